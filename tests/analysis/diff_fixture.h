// Profiles made by hand for comparisons: stacks of named functions with times and samples.
#pragma once

#include "analysis/diff/diff.h"
#include "callgraph/profile.h"
#include "callgraph/tree.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::analysis {

using callgraph::CodeModule;
using callgraph::Function;
using callgraph::ProcessTotals;
using callgraph::Profile;
using callgraph::TreeBuilder;

class ProfileMaker {
public:
    ProfileMaker() { modules_.push_back({"app", "/usr/bin/app", "aa"}); }

    /// The module of the functions that follow; its index is 1 for the first.
    ProfileMaker& module(const std::string& name, const std::string& build_id = "") {
        modules_.push_back({name, "/usr/lib/" + name, build_id});
        return *this;
    }
    /// A function of the last module; functions are numbered from 1.
    FunctionId function(const std::string& name, const std::string& source = "",
                        std::uint32_t line = 0) {
        Function function;
        function.name = name;
        function.source = source;
        function.line = line;
        function.module = static_cast<std::uint32_t>(modules_.size() - 1);
        functions_.push_back(function);
        return FunctionId{static_cast<std::uint32_t>(functions_.size())};
    }
    /// Time at the end of a stack, outermost first. Below a category of this name.
    ProfileMaker& add(const std::vector<FunctionId>& stack, std::uint64_t ns, std::uint64_t samples,
                      const std::string& category = "main") {
        TreeBuilder::Index node = category_node(category);
        for (const FunctionId function : stack) {
            node = tree_.child(node, function);
        }
        tree_.add_self(node, ns, samples);
        return *this;
    }
    /// The program that ran.
    ProfileMaker& program(const std::string& executable) {
        ProcessTotals process;
        process.executable = executable;
        process.pid = 1;
        profile_.processes.push_back(process);
        return *this;
    }

    [[nodiscard]] Profile make() {
        profile_.functions = functions_;
        profile_.modules = modules_;
        std::move(tree_).finish(profile_);
        return std::move(profile_);
    }

private:
    TreeBuilder::Index category_node(const std::string& name) {
        for (const auto& [known, node] : categories_) {
            if (known == name) {
                return node;
            }
        }
        return categories_.emplace_back(name, tree_.add_category(name)).second;
    }

    TreeBuilder tree_;
    Profile profile_;
    std::vector<Function> functions_;
    std::vector<CodeModule> modules_{CodeModule{}};
    std::vector<std::pair<std::string, TreeBuilder::Index>> categories_;
};

/// Profiles as runs, without a scale of their own.
inline std::vector<Run> runs_of(const std::vector<Profile>& profiles) {
    std::vector<Run> runs;
    runs.reserve(profiles.size());
    for (const Profile& profile : profiles) {
        runs.push_back({&profile});
    }
    return runs;
}

/// One recording a side.
inline Diff diff_of(const Profile& before, const Profile& after, const DiffOptions& options = {}) {
    return diff(std::vector<Run>{{&before}}, std::vector<Run>{{&after}}, options);
}

}  // namespace sample::analysis

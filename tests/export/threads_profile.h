// Profiles with a timeline, made by hand: for the tests of formats that show samples along time.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/tree.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {

/// Grows a tree and gives threads samples in it. Node numbers are those of the TreeBuilder.
class ThreadsProfileMaker {
public:
    using Node = callgraph::TreeBuilder::Index;

    FunctionId function(std::string name, std::string source = {}, std::uint32_t line = 0,
                        std::uint32_t module = 0) {
        callgraph::Function& added = profile.functions.emplace_back();
        added.name = std::move(name);
        added.source = std::move(source);
        added.line = line;
        added.module = module;
        return FunctionId{static_cast<std::uint32_t>(profile.functions.size())};
    }

    Node category(std::string name) { return tree_.add_category(std::move(name)); }
    Node child(Node parent, FunctionId function, const callgraph::CallSite& site = {}) {
        return tree_.child(parent, function, site);
    }

    /// Its index.
    std::uint32_t thread(std::string process, std::string name, std::uint32_t pid,
                         std::uint32_t tid) {
        profile.threads.push_back({std::move(name), std::move(process), pid, tid, 0, 0, 0, 0});
        series_.push_back(std::make_shared<callgraph::SampleSeries>());
        return static_cast<std::uint32_t>(series_.size() - 1);
    }

    void sample(std::uint32_t thread, std::int64_t time_ns, Node node, std::uint64_t weight) {
        add(thread, time_ns, node, weight, false);
    }
    void book(std::uint32_t thread, std::int64_t time_ns, Node node, std::uint64_t weight) {
        add(thread, time_ns, node, weight, true);
    }

    callgraph::Profile finish() {
        const std::vector<NodeId> became = std::move(tree_).finish(profile);
        callgraph::Timeline timeline;
        for (const Node place : places_) {
            timeline.nodes.push_back(became[place]);
        }
        for (std::uint32_t thread = 0; thread < series_.size(); ++thread) {
            timeline.threads.push_back({thread, series_[thread]});
        }
        profile.timeline = std::move(timeline);
        return std::move(profile);
    }

    callgraph::Profile profile;

private:
    void add(std::uint32_t thread, std::int64_t time_ns, Node node, std::uint64_t weight,
             bool is_booking) {
        places_.push_back(node);
        series_[thread]->append(
            {time_ns, static_cast<std::uint32_t>(places_.size() - 1), weight, is_booking});
        tree_.add_self(node, weight, is_booking ? 0 : 1);
    }

    callgraph::TreeBuilder tree_;
    std::vector<Node> places_;
    std::vector<std::shared_ptr<callgraph::SampleSeries>> series_;
};

/// Two threads, sampled each microsecond. The first has a booking that comes late, a sample that
/// lies a jitter behind, one after a pause, and one that overlaps it; work is called by run and by
/// main, run calls itself, and helper is inlined. The second was busy in what has no name.
[[nodiscard]] callgraph::Profile threads_profile();

}  // namespace sample::exports

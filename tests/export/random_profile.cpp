#include "random_profile.h"

#include "callgraph/tree.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::CallSite;
using callgraph::Inlining;
using callgraph::Profile;
using callgraph::TreeBuilder;

constexpr std::uint32_t kFunctions = 12;
constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kCategories = 2;

class Maker {
public:
    explicit Maker(std::uint32_t seed) : random_{seed} {}

    Profile make() {
        constexpr std::uint32_t kStacks = 200;
        constexpr std::uint32_t kSamples = 300;
        add_facts();
        for (std::uint32_t i = 0; i < kStacks; ++i) {
            add_stack();
        }
        callgraph::Timeline timeline;
        for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
            timeline.threads.push_back({thread, sample_thread(thread, kSamples)});
        }
        const std::vector<NodeId> became = std::move(tree_).finish(profile_);
        for (const TreeBuilder::Index place : places_) {
            timeline.nodes.push_back(became[place]);
        }
        profile_.timeline = std::move(timeline);
        return std::move(profile_);
    }

private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }

    void add_facts() {
        profile_.by_line = true;
        profile_.command_line = "./program --all";
        profile_.start_unix_ms = 1'700'000'000'000;
        profile_.stats.clock = "cpu";
        profile_.stats.source = "sigtrap";
        profile_.stats.requested_hz = 1000;
        profile_.stats.wall_ns = 5'000'000'000;
        profile_.modules.push_back({"libc.so.6", "/lib/libc.so.6", "aa11"});
        profile_.modules.push_back({"program", "/opt/program", "bb22"});
        for (std::uint32_t i = 0; i < kFunctions; ++i) {
            callgraph::Function& function = profile_.functions.emplace_back();
            function.name = "function" + std::to_string(i / 2);  // Each name twice.
            function.source = i % 3 == 0 ? "/src/a.cpp" : "program";
            function.line = i % 3 == 0 ? 10 + i : 0;
            function.module = i % 5 == 0 ? 0 : 2;
            function.flags = i % 4;
        }
        profile_.functions[1].name = "bad \xff name\n";
        profile_.functions[2].name.clear();
        profile_.functions[3].linkage_name = "_Z9function1v";
        callgraph::ProcessTotals& process = profile_.processes.emplace_back();
        process.executable = "/opt/program";
        process.pid = 100;
        for (std::uint32_t i = 0; i < kThreads; ++i) {
            callgraph::ThreadTotals& thread = profile_.threads.emplace_back();
            thread.name = "worker-" + std::to_string(i);
            thread.process = "program";
            thread.pid = 100;
            thread.tid = 100 + i;
        }
        for (std::uint32_t i = 0; i < kCategories; ++i) {
            categories_.push_back(tree_.add_category("group-" + std::to_string(i)));
        }
    }

    void add_stack() {
        constexpr std::uint32_t kDeepest = 14;
        constexpr std::uint32_t kLines = 4;
        TreeBuilder::Index node = categories_[below(kCategories)];
        const std::uint32_t depth = below(kDeepest);
        std::uint32_t line = 0;
        for (std::uint32_t i = 0; i < depth; ++i) {
            const FunctionId function{1 + below(kFunctions)};
            const std::uint32_t next = below(kLines);
            const auto inlining = below(3) == 0 ? Inlining::all : Inlining::none;
            node = tree_.child(node, function, CallSite{next, line, inlining});
            line = next;
        }
        places_.push_back(node);
    }

    std::shared_ptr<const callgraph::SampleSeries> sample_thread(std::uint32_t thread,
                                                                 std::uint32_t samples) {
        constexpr std::uint64_t kMost = 3'000'000;
        constexpr std::uint32_t kOneInBooked = 7;
        auto series = std::make_shared<callgraph::SampleSeries>();
        std::int64_t now = 0;
        for (std::uint32_t i = 0; i < samples; ++i) {
            const auto place = below(static_cast<std::uint32_t>(places_.size()));
            const std::uint64_t weight = random_() % kMost;
            const bool is_booking = below(kOneInBooked) == 0;
            now += static_cast<std::int64_t>(weight);
            series->append({now, place, weight, is_booking});
            tree_.add_self(places_[place], weight, is_booking ? 0 : 1);
            profile_.threads[thread].cpu_ns += weight;
            profile_.threads[thread].samples += is_booking ? 0 : 1;
            profile_.stats.samples += is_booking ? 0 : 1;
        }
        return series;
    }

    std::mt19937_64 random_;
    Profile profile_;
    TreeBuilder tree_;
    std::vector<TreeBuilder::Index> categories_;
    std::vector<TreeBuilder::Index> places_;
};

}  // namespace

Profile random_profile(std::uint32_t seed) {
    return Maker{seed}.make();
}

}  // namespace sample::exports

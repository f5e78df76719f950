#include "bench/export/made_up_profile.h"

#include "callgraph/tree.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sample::bench {
namespace {

using callgraph::Profile;
using callgraph::TreeBuilder;

constexpr std::uint64_t kPeriodNs = 100'000;
constexpr std::uint32_t kModules = 50;
constexpr std::uint32_t kFunctionsOfFile = 10;

std::string number(std::uint32_t value) {
    return std::to_string(value);
}

void add_functions(Profile& profile, std::uint32_t count) {
    for (std::uint32_t i = 1; i <= kModules; ++i) {
        profile.modules.push_back({"libpart" + number(i) + ".so",
                                   "/usr/lib/x86_64-linux-gnu/libpart" + number(i) + ".so",
                                   "8c1d0b5e27f94a36b0d2c47e19a5f3680c7b" + number(1000 + i)});
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        callgraph::Function& function = profile.functions.emplace_back();
        function.name = "project::part" + number(i / kFunctionsOfFile) +
                        "::Worker<std::string>::step" + number(i) +
                        "(std::vector<int> const&, unsigned long)";
        function.linkage_name = "_ZN7project4part6WorkerINSt7stringEE4step" + number(i) + "Em";
        function.source = "/src/project/part" + number(i / kFunctionsOfFile) + "/worker.cpp";
        function.line = 1 + i % kFunctionsOfFile * 40;
        function.module = 1 + i % kModules;
    }
}

/// The tree, one part of it for each thread. Returns the nodes in the order they were made.
std::vector<TreeBuilder::Index> grow(TreeBuilder& tree, const Size& size, std::mt19937_64& random) {
    constexpr std::size_t kDeepest = 60;
    std::vector<TreeBuilder::Index> nodes;
    nodes.reserve(size.nodes);
    std::vector<TreeBuilder::Index> path;
    const std::uint32_t part = size.nodes / size.threads;
    while (nodes.size() < size.nodes) {
        if (nodes.size() % part == 0 && nodes.size() / part < size.threads) {
            path = {tree.add_category("worker-" +
                                      number(static_cast<std::uint32_t>(nodes.size() / part)))};
        }
        const std::size_t ups = path.size() > kDeepest ? kDeepest / 2 : random() % 4;
        path.resize(std::max<std::size_t>(1, path.size() - std::min(ups, path.size())));
        do {
            const FunctionId function{1 + static_cast<std::uint32_t>(random() % size.functions)};
            const auto line = static_cast<std::uint32_t>(random() % 400);
            const TreeBuilder::Index node = tree.child(path.back(), function, {line, line, {}});
            if (nodes.empty() || node > nodes.back()) {
                nodes.push_back(node);
            }
            path.push_back(node);
        } while (random() % 2 != 0 && nodes.size() < size.nodes && nodes.size() % part != 0);
    }
    return nodes;
}

/// Each thread's samples, at places that are indices into `nodes`.
callgraph::Timeline sample(const Size& size, std::mt19937_64& random) {
    constexpr std::uint32_t kNear = 40;
    callgraph::Timeline timeline;
    const std::uint32_t part = size.nodes / size.threads;
    for (std::uint32_t thread = 0; thread < size.threads; ++thread) {
        const std::uint32_t first = thread * part;
        const std::uint32_t nodes = thread + 1 == size.threads ? size.nodes - first : part;
        const std::uint64_t samples = size.samples / size.threads;
        auto series = std::make_shared<callgraph::SampleSeries>();
        std::int64_t now = 0;
        for (std::uint64_t i = 0; i < samples; ++i) {
            const auto at = static_cast<std::uint32_t>(i * nodes / samples);
            const std::uint32_t node =
                i % 4 == 0 ? at
                           : std::min(nodes - 1, at + static_cast<std::uint32_t>(random() % kNear));
            now += static_cast<std::int64_t>(kPeriodNs + random() % 2000);
            series->append({now, first + node, kPeriodNs, false});
        }
        timeline.threads.push_back({thread, std::move(series)});
    }
    return timeline;
}

void add_facts(Profile& profile, const Size& size) {
    for (std::uint32_t i = 0; i < size.threads; ++i) {
        callgraph::ThreadTotals& thread = profile.threads.emplace_back();
        thread.name = "worker-" + number(i);
        thread.process = "project";
        thread.pid = 1000;
        thread.tid = 1000 + i;
        thread.samples = size.samples / size.threads;
        thread.total = thread.samples * kPeriodNs;
    }
    callgraph::ProcessTotals& process = profile.processes.emplace_back();
    process.executable = "/usr/bin/project";
    process.command_line = profile.command_line = "project --all";
    process.pid = 1000;
    process.cpu_ns = size.samples * kPeriodNs;
    profile.start_unix_ms = 1'700'000'000'000;
    callgraph::Stats& stats = profile.stats;
    stats.requested_hz = 10'000;
    stats.source = "sigtrap";
    stats.clock = "cpu";
    stats.samples = size.samples;
    stats.sampled = size.samples * kPeriodNs;
    stats.wall_ns = size.samples / size.threads * (kPeriodNs + 2000);
    stats.threads = size.threads;
    stats.processes = 1;
}

}  // namespace

Profile make_profile(const Size& size) {
    std::mt19937_64 random{42};
    Profile profile;
    profile.by_line = true;
    add_functions(profile, size.functions);
    add_facts(profile, size);
    TreeBuilder tree;
    const std::vector<TreeBuilder::Index> nodes = grow(tree, size, random);
    callgraph::Timeline timeline = sample(size, random);
    for (const callgraph::Timeline::Thread& thread : timeline.threads) {
        callgraph::TimedWeight sample;
        for (auto reader = thread.samples->read(); reader.next(sample);) {
            tree.add_self(nodes[sample.place], sample.weight, 1);
        }
    }
    const std::vector<NodeId> became = std::move(tree).finish(profile);
    timeline.nodes.reserve(nodes.size());
    for (const TreeBuilder::Index node : nodes) {
        timeline.nodes.push_back(became[node]);
    }
    profile.timeline = std::move(timeline);
    return profile;
}

}  // namespace sample::bench

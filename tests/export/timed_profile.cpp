#include "tests/export/timed_profile.h"

#include "callgraph/tree.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Profile;
using callgraph::SampleSeries;
using callgraph::TreeBuilder;

constexpr std::uint64_t kMs = 1'000'000;

FunctionId add_function(Profile& profile, std::string name, std::string source, std::uint32_t line,
                        std::uint32_t module, std::uint32_t flags = callgraph::kNoFlags) {
    callgraph::Function& function = profile.functions.emplace_back();
    function.name = std::move(name);
    function.source = std::move(source);
    function.line = line;
    function.module = module;
    function.flags = flags;
    return FunctionId{static_cast<std::uint32_t>(profile.functions.size())};
}

/// Appends samples to a thread and their weights to the tree.
class Sampler {
public:
    Sampler(TreeBuilder& tree, std::vector<TreeBuilder::Index>& places)
        : tree_{tree}, places_{places} {}

    void sample(double at_ms, TreeBuilder::Index node) { add(at_ms, node, kMs, false); }
    void book(double at_ms, TreeBuilder::Index node, std::uint64_t ns) {
        add(at_ms, node, ns, true);
    }
    [[nodiscard]] std::shared_ptr<const SampleSeries> series() const { return series_; }

private:
    void add(double at_ms, TreeBuilder::Index node, std::uint64_t ns, bool is_booking) {
        series_->append({static_cast<std::int64_t>(at_ms * kMs),
                         static_cast<std::uint32_t>(places_.size()), ns, is_booking});
        places_.push_back(node);
        tree_.add_self(node, ns, is_booking ? 0 : 1);
    }

    TreeBuilder& tree_;
    std::vector<TreeBuilder::Index>& places_;
    std::shared_ptr<SampleSeries> series_ = std::make_shared<SampleSeries>();
};

void add_facts(Profile& profile) {
    profile.command_line = "app --fast \"</script>\"";
    profile.start_unix_ms = 1'700'000'000'000;
    profile.end_unix_ms = profile.start_unix_ms + 60;
    profile.modules.push_back({"app", "/usr/bin/app", "0123456789abcdef0123456789abcdef01234567"});
    profile.modules.push_back({"libc.so.6", "/usr/lib/libc.so.6", ""});
    profile.modules.push_back({"[jit]", "", ""});
    profile.threads.resize(2);
    profile.threads[0] = {"app", "app", 100, 100, 0, 7 * kMs + kMs / 2, 7, 0};
    profile.threads[1] = {"worker", "child", 101, 101, 10 * static_cast<std::int64_t>(kMs),
                          4 * kMs,  4,       0};
    profile.processes.resize(2);
    profile.processes[0].executable = "/usr/bin/app";
    profile.processes[0].pid = 100;
    profile.processes[0].end_ns = 60 * static_cast<std::int64_t>(kMs);
    profile.processes[1].executable = "/usr/bin/child";
    profile.processes[1].pid = 101;
    profile.processes[1].start_ns = 10 * static_cast<std::int64_t>(kMs);
    callgraph::Stats& stats = profile.stats;
    stats.requested_hz = 1000;
    stats.source = "sigtrap";
    stats.clock = "cpu";
    stats.wall_ns = 60 * kMs;
    stats.samples = 11;
    stats.sampled = 11 * kMs;
    stats.booked = kMs / 2;
    stats.lost = 3;
    stats.threads = 2;
    stats.processes = 2;
    stats.notes = {"one library has no unwind tables"};
}

}  // namespace

Profile timed_profile() {
    Profile profile;
    profile.by_line = true;
    add_facts(profile);
    const FunctionId run = add_function(profile, "run()", "/src/run.cpp", 10, 1);
    const FunctionId step = add_function(profile, "step</script><b>", "/src/run.cpp", 30, 1);
    const FunctionId gc = add_function(profile, "GC", "", 0, 0);
    const FunctionId allocate = add_function(profile, "malloc", "libc.so.6", 0, 2);
    const FunctionId rest = add_function(profile, "[not sampled]", "", 0, 0);
    const FunctionId made = add_function(profile, "made\"\u2028\u202e", "[jit]", 0, 3,
                                         callgraph::kNative | callgraph::kPlugin);
    const FunctionId kernel = add_function(profile, "[kernel, caller unseen]", "", 0, 0);
    profile.memory = gc;

    TreeBuilder tree;
    const auto main_category = tree.add_category("main");
    const auto run_12 = tree.child(main_category, run, {12, 0, {}});
    const auto step_31 = tree.child(run_12, step, {31, 12, callgraph::Inlining::all});
    const auto in_gc = tree.child(tree.child(step_31, gc), allocate, {0, 31, {}});
    const auto run_14 = tree.child(run_12, run, {14, 12, {}});
    const auto not_sampled = tree.child(run_12, rest);
    const auto worker = tree.add_category("worker");
    const auto jit = tree.child(worker, made);
    const auto unseen = tree.child(worker, kernel);

    std::vector<TreeBuilder::Index> places;
    Sampler first{tree, places};
    first.sample(1, run_12);
    first.sample(2, step_31);
    first.sample(3, in_gc);
    first.sample(4.000001, in_gc);
    first.sample(50, in_gc);
    first.sample(51, run_14);
    first.sample(52, run_12);
    first.book(52.5, not_sampled, kMs / 2);
    Sampler second{tree, places};
    second.sample(11, jit);
    second.sample(12, unseen);
    second.sample(13, jit);
    second.sample(14, jit);

    const std::vector<NodeId> became = std::move(tree).finish(profile);
    callgraph::Timeline timeline;
    for (const TreeBuilder::Index place : places) {
        timeline.nodes.push_back(became[place]);
    }
    timeline.threads = {{0, first.series()}, {1, second.series()}};
    profile.timeline = std::move(timeline);
    return profile;
}

}  // namespace sample::exports

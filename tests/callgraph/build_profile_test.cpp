#include "callgraph/build_profile.h"

#include "recording_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sample::callgraph {
namespace {

TEST(BuildProfile, merges_addresses_of_one_function_and_sums_totals) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    const NodeId main_later = maker.frame({}, "main", {}, 8);
    maker.sample(thread, maker.frame(main, "work"), 30);
    maker.sample(thread, maker.frame(main_later, "work", {}, 4), 20);
    maker.sample(thread, maker.frame(main_later, "rest"), 7);
    maker.sample(thread, main, 5);
    EXPECT_EQ(drawing(maker.profile()),
              "main 62/0\n"
              "  main 62/5\n"
              "    work 50/50\n"
              "    rest 7/7\n");
}

TEST(BuildProfile, merges_calls_of_a_function_that_calls_many) {
    constexpr std::uint64_t kCalled = 10;
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    const NodeId main_later = maker.frame({}, "main", {}, 8);
    for (std::uint64_t i = 0; i < kCalled; ++i) {
        maker.sample(thread, maker.frame(main, "f" + std::to_string(i)), 1);
    }
    for (std::uint64_t i = kCalled; i-- > 0;) {
        maker.sample(thread, maker.frame(main_later, "f" + std::to_string(i)), 1 + i);
    }
    std::string expected = "main 65/0\n  main 65/0\n";
    for (std::uint64_t i = kCalled; i-- > 0;) {
        expected += fmt::format("    f{} {}/{}\n", i, 2 + i, 2 + i);
    }
    EXPECT_EQ(drawing(maker.profile()), expected);
}

TEST(BuildProfile, counts_recursion_once_in_a_functions_total) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "fib", "fib", "leaf", "fib"}), 10);
    maker.sample(thread, maker.stack({"main", "fib"}), 3);
    const Function fib = function_named(maker.profile(), "fib");
    EXPECT_EQ(fib.total, 13U);
    EXPECT_EQ(fib.self, 13U);
    EXPECT_EQ(fib.samples, 2U);
    EXPECT_EQ(fib.self_samples, 2U);
}

TEST(BuildProfile, puts_booked_time_into_totals_but_not_into_samples) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main"}), 10);
    maker.book(thread, maker.frame({}, "not looked at", maker.pseudo(trace::kNotSampled)), 4);
    const Profile profile = maker.profile();
    EXPECT_EQ(drawing(profile), "main 14/0\n  main 10/10\n  [not sampled] 4/4\n");
    EXPECT_EQ(profile.nodes[0].samples, 1U);
    EXPECT_EQ(profile.stats.sampled, 10U);
    EXPECT_EQ(profile.stats.booked, 4U);
    const Function pseudo = function_named(profile, "[not sampled]");
    EXPECT_EQ(pseudo.source, "");
    EXPECT_EQ(pseudo.module, 0U);
    EXPECT_EQ(pseudo.samples, 0U);
}

TEST(BuildProfile, puts_one_node_above_the_outermost_memory_function_if_asked_to) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "_Znwm", "malloc", "_int_malloc"}), 10);
    maker.sample(thread, maker.stack({"main", "free"}), 2);
    maker.sample(thread, maker.stack({"main"}), 1);
    const Profile profile = maker.profile_with_memory();
    EXPECT_EQ(drawing(profile),
              "main 13/0\n"
              "  main 13/1\n"
              "    [memory] 12/0\n"
              "      _Znwm 10/0\n"
              "        malloc 10/0\n"
              "          _int_malloc 10/10\n"
              "      free 2/2\n");
    ASSERT_TRUE(profile.memory.has_value());
    EXPECT_EQ(profile.function(*profile.memory).name, kMemoryName);
    EXPECT_EQ(profile.function(*profile.memory).total, 12U);
}

TEST(BuildProfile, has_no_memory_node_without_memory_functions) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 1);
    EXPECT_FALSE(maker.profile_with_memory().memory.has_value());
}

TEST(BuildProfile, flags_a_plugin_but_not_what_it_calls) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId plugin = maker.module("/opt/p/libfilter.so", trace::ModuleKind::elf, true);
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.frame(maker.frame(main, "filter", plugin), "helper"), 5);
    maker.sample(thread, maker.frame(main, "helper"), 3);
    const Profile profile = maker.profile();
    EXPECT_EQ(function_named(profile, "helper").total, 8U) << "one function, whoever calls it";
    EXPECT_EQ(function_named(profile, "helper").flags, kNoFlags);
    EXPECT_EQ(function_named(profile, "filter").flags, kPlugin);
    EXPECT_EQ(function_named(profile, "filter").source, "libfilter.so");
    EXPECT_EQ(function_named(profile, "main").flags, kNoFlags);
}

TEST(BuildProfile, flags_code_made_at_run_time) {
    RecordingMaker maker;
    const ModuleId jit = maker.module("[jit]", trace::ModuleKind::jit);
    maker.sample(maker.main_thread(), maker.frame({}, "compiled", jit), 5);
    EXPECT_EQ(function_named(maker.profile(), "compiled").flags, kNative);
}

TEST(BuildProfile, keeps_functions_of_different_modules_apart) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.frame({}, "init", maker.module("/a/lib.so")), 5);
    maker.sample(thread, maker.frame({}, "init", maker.module("/b/lib.so")), 3);
    EXPECT_EQ(drawing(maker.profile()), "main 8/0\n  init 5/5\n  init 3/3\n");
}

TEST(BuildProfile, names_what_no_symbol_names_by_its_offset) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.frame({}, "x", maker.module("/a/lib.so")), 5);
    maker.symbols = {};
    EXPECT_EQ(drawing(maker.profile()), "main 5/0\n  lib.so+0x1000 5/5\n");
}

TEST(BuildProfile, keeps_the_time_of_a_sample_whose_stack_is_unknown) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), NodeId{77}, 5);
    maker.sample(ThreadId{9}, maker.stack({"main"}), 4);
    const Profile profile = maker.profile();
    EXPECT_EQ(drawing(profile), "main 5/5\n[unknown] 4/0\n  main 4/4\n");
    EXPECT_EQ(maker.recording.bad_records(), 2U);
}

TEST(BuildProfile, merges_guessed_frames_with_proved_ones) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.frame(maker.frame(main, "work"), "leaf"), 30);
    maker.sample(thread, maker.frame(maker.guessed_frame(main, "work"), "leaf"), 12);
    maker.sample(thread, maker.guessed_frame(main, "odd"), 1);
    EXPECT_EQ(drawing(maker.profile()),
              "main 43/0\n"
              "  main 43/0\n"
              "    work 42/0\n"
              "      leaf 42/42\n"
              "    odd 1/1\n");
    EXPECT_EQ(function_named(maker.profile(), "work").samples, 2U);
    // Also where no symbol gives them the same name.
    maker.symbols = {};
    EXPECT_EQ(maker.recording.addresses().size(), 4U);
    EXPECT_EQ(function_named(maker.profile(), "app+0x1100").total, 42U);
}

TEST(BuildProfile, makes_a_node_of_every_inlined_frame) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.inlined_frame({}, {"run", "main"}, {70, 12});
    maker.sample(thread, maker.inlined_frame(main, {"add", "sum", "work"}, {5, 31, 22}), 4);
    maker.sample(thread, maker.inlined_frame(main, {"sum", "work"}, {30, 22}), 2);
    const Profile profile = maker.profile();
    EXPECT_EQ(drawing(profile),
              "main 6/0\n"
              "  main 6/0\n"
              "    run 6/0\n"
              "      work 6/0\n"
              "        sum 6/2\n"
              "          add 4/4\n");
    const auto node_of = [&](const std::string& name) {
        for (const Node& node : profile.nodes) {
            if (!node.function.is_none() && profile.function(node.function).name == name) {
                return node;
            }
        }
        return Node{};
    };
    EXPECT_EQ(node_of("main").inlining, Inlining::none);
    EXPECT_EQ(node_of("run").inlining, Inlining::all);
    EXPECT_EQ(node_of("run").call_line, 12U);
    EXPECT_EQ(node_of("work").inlining, Inlining::none);
    EXPECT_EQ(node_of("work").call_line, 70U);
    EXPECT_EQ(node_of("sum").call_line, 22U);
    EXPECT_EQ(node_of("add").call_line, 31U);
    EXPECT_EQ(node_of("add").inlining, Inlining::all);
}

TEST(BuildProfile, says_where_a_function_is_inlined_at_some_of_its_calls) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.inlined_frame({}, {"main"}, {10});
    maker.sample(thread, maker.inlined_frame({}, {"work", "main"}, {21, 14}), 1);
    maker.sample(thread, maker.inlined_frame(main, {"work"}, {22}), 2);
    const Profile profile = maker.profile();
    EXPECT_EQ(drawing(profile), "main 3/0\n  main 3/0\n    work 3/3\n");
    EXPECT_EQ(profile.nodes.at(3).inlining, Inlining::some);
    EXPECT_EQ(profile.nodes.at(3).call_line, 0U) << "lines 10 and 14";
}

TEST(BuildProfile, folds_inlined_frames_into_the_function_with_the_code) {
    RecordingMaker maker;
    const NodeId main = maker.inlined_frame({}, {"run", "main"}, {70, 12});
    maker.sample(maker.main_thread(),
                 maker.inlined_frame(main, {"add", "sum", "work"}, {5, 31, 22}), 4);
    BuildOptions options;
    options.fold_inlined = true;
    const Profile profile = maker.profile(options);
    EXPECT_EQ(drawing(profile), "main 4/0\n  main 4/0\n    work 4/4\n");
    EXPECT_EQ(profile.nodes.at(3).call_line, 12U);
}

TEST(BuildProfile, splits_nodes_by_line_when_asked) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.inlined_frame(maker.inlined_frame({}, {"main"}, {10}), {"f"}, {5}),
                 3);
    maker.sample(thread, maker.inlined_frame(maker.inlined_frame({}, {"main"}, {10}), {"f"}, {6}),
                 2);
    maker.sample(thread, maker.inlined_frame(maker.inlined_frame({}, {"main"}, {11}), {"f"}, {5}),
                 1);
    BuildOptions options;
    options.by_line = true;
    const Profile profile = maker.profile(options);
    EXPECT_EQ(drawing(profile),
              "main 6/0\n"
              "  main 5/0\n"
              "    f 3/3\n"
              "    f 2/2\n"
              "  main 1/0\n"
              "    f 1/1\n");
    EXPECT_EQ(profile.nodes.at(2).line, 10U);
    EXPECT_EQ(profile.nodes.at(4).line, 6U);
    EXPECT_EQ(profile.nodes.at(4).call_line, 10U);
    EXPECT_EQ(function_named(profile, "f").total, 6U);
}

TEST(BuildProfile, marks_a_guessed_name) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.frame({}, "label"), 1);
    maker.symbols.functions.at(0).origin = NameOrigin::guessed;
    EXPECT_EQ(drawing(maker.profile()), "main 1/0\n  label [guessed] 1/1\n");
}

TEST(BuildProfile, keeps_a_stack_with_elided_frames_under_its_root) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId elided = maker.pseudo(trace::kFramesElided);
    const NodeId root_end = maker.stack({"main", "recurse"});
    const NodeId marker = maker.frame(root_end, "-", elided);
    maker.sample(thread, maker.frame(maker.frame(marker, "recurse"), "leaf"), 9);
    maker.sample(thread, root_end, 1);
    const Profile profile = maker.profile();
    EXPECT_EQ(drawing(profile),
              "main 10/0\n"
              "  main 10/0\n"
              "    recurse 10/1\n"
              "      [frames elided] 9/0\n"
              "        recurse 9/0\n"
              "          leaf 9/9\n");
    const Function marker_function = function_named(profile, "[frames elided]");
    EXPECT_EQ(marker_function.module, 0U);
    EXPECT_EQ(marker_function.source, "");
    EXPECT_EQ(function_named(profile, "recurse").total, 10U);
}

TEST(BuildProfile, shows_stacks_that_broke_off_as_one_whatever_the_reason) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId incomplete = maker.pseudo(trace::kStackIncomplete);
    maker.sample(thread, maker.frame(maker.base(incomplete, StackBreak::no_cfi), "f"), 4);
    maker.sample(thread, maker.frame(maker.base(incomplete, StackBreak::no_module), "f"), 3);
    EXPECT_EQ(drawing(maker.profile()),
              "main 7/0\n"
              "  [stack incomplete] 7/0\n"
              "    f 7/7\n");
}

TEST(BuildProfile, of_an_empty_recording_is_an_empty_tree) {
    const Profile profile = build_profile(Recording{}, {}, {});
    ASSERT_EQ(profile.nodes.size(), 1U);
    EXPECT_EQ(profile.nodes[0].total, 0U);
    EXPECT_TRUE(profile.categories.empty());
    EXPECT_FALSE(profile.stats.whole);
}

TEST(BuildProfile, survives_very_deep_stacks) {
    constexpr std::uint32_t kDepth = 200'000;
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    NodeId node;
    for (std::uint32_t i = 0; i < kDepth; ++i) {
        node = maker.frame(node, i % 2 == 0 ? "even" : "odd");
    }
    maker.sample(thread, node, 5);
    const Profile profile = maker.profile();
    EXPECT_EQ(profile.nodes.size(), kDepth + 2);
    EXPECT_EQ(function_named(profile, "even").total, 5U);
}

TEST(Recording, refuses_weights_that_would_overflow_the_sum) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId node = maker.stack({"main"});
    maker.sample(thread, node, ~std::uint64_t{0} - 5);
    maker.sample(thread, node, 6);
    maker.sample(thread, node, 5);
    EXPECT_EQ(maker.recording.bad_records(), 1U);
    EXPECT_EQ(maker.profile().nodes[0].total, ~std::uint64_t{0});
}

TEST(Recording, refuses_nodes_out_of_order) {
    Recording recording;
    recording.node({NodeId{2}, NodeId{}, ModuleId{}, 0});
    recording.node({NodeId{1}, NodeId{1}, ModuleId{}, 0});
    EXPECT_EQ(recording.bad_records(), 2U);
    EXPECT_TRUE(recording.nodes().empty());
}

TEST(Recording, lists_each_address_once) {
    RecordingMaker maker;
    maker.stack({"main", "main", "work"});
    maker.stack({"main", "work"});
    EXPECT_EQ(maker.recording.addresses().size(), 2U);
}

TEST(BuildProfile, cuts_stacks_short_where_it_has_as_many_nodes_as_it_may) {
    RecordingMaker maker;
    const NodeId stack = maker.stack({"a", "b", "c"});
    const ThreadId main = maker.main_thread();
    const ThreadId worker = maker.thread(ProcessId{1}, "worker", 101);
    maker.sample(main, stack, 10);
    maker.sample(worker, stack, 5);
    maker.sample(worker, maker.stack({"d"}), 2);
    maker.sample(worker, maker.stack({"a", "a"}), 1);
    maker.sample(worker, maker.stack({"a"}), 1);
    maker.end();
    BuildOptions options;
    EXPECT_EQ(maker.profile(options).stats.notes, std::vector<std::string>{});
    options.most_nodes = 7;
    const Profile cut = maker.profile(options);
    EXPECT_EQ(drawing(cut),
              "main 10/0\n  a 10/0\n    b 10/0\n      c 10/10\n"
              "worker 9/2\n  a 7/7\n")
        << "the weights are all there";
    EXPECT_EQ(cut.stats.notes,
              std::vector<std::string>{"3 stacks cut short: this callgraph would have more than 7 "
                                       "nodes; --thread, --process, --from and --to choose fewer"});
}

TEST(BuildProfile, is_of_the_metric_that_was_asked_for) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame(NodeId{}, "main");
    const NodeId work = maker.frame(main, "work");
    const MetricId bytes{2};
    maker.recording.record(trace::Metric{bytes, "allocated", "bytes", "what malloc was asked for"});
    maker.recording.keep_times();
    maker.sample(thread, work, 700);
    maker.recording.sample({thread, 3'000, main, 64, false, bytes});
    maker.recording.sample({thread, 4'000, work, 100, false, bytes});

    const Profile time = build_profile(maker.recording, maker.symbols);
    EXPECT_EQ(time.metric.name, "cpu");
    EXPECT_EQ(time.nodes[0].total, 700U);
    EXPECT_EQ(time.stats.samples, 1U);
    ASSERT_EQ(time.metrics.size(), 2U);

    const Profile allocated = build_profile(maker.recording, maker.symbols, {.metric = bytes});
    EXPECT_EQ(allocated.metric.unit, "bytes");
    EXPECT_FALSE(allocated.is_time());
    EXPECT_EQ(allocated.nodes[0].total, 164U);
    EXPECT_EQ(allocated.stats.sampled, 164U);
    EXPECT_EQ(allocated.stats.samples, 2U);
    EXPECT_FALSE(allocated.stats.achieved_hz);
    EXPECT_EQ(allocated.timeline->threads.at(0).samples->size(), 2U);
}

}  // namespace
}  // namespace sample::callgraph

#include "callgraph/transforms.h"

#include "callgraph/tree.h"
#include "recording_fixture.h"

#include <gtest/gtest.h>

namespace sample::callgraph {
namespace {

TEST(HideMemory, subtracts_it_from_ancestors_and_from_functions) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "parse", "malloc", "callback"}), 10);
    maker.sample(thread, maker.stack({"main", "parse"}), 5);
    maker.sample(thread, maker.stack({"main", "callback"}), 2);
    maker.sample(thread, maker.stack({"main", "only_frees", "free"}), 4);
    const Profile profile = hide_memory(maker.profile_with_memory());
    EXPECT_EQ(drawing(profile), "main 7/0\n  main 7/0\n    parse 5/5\n    callback 2/2\n");
    EXPECT_FALSE(profile.memory.has_value());
    EXPECT_EQ(function_named(profile, "callback").total, 2U);
    EXPECT_EQ(function_named(profile, "main").samples, 2U);
    EXPECT_EQ(function_named(profile, "malloc").name, "");
    EXPECT_EQ(profile.stats.samples, 4U);
}

TEST(HideMemory, keeps_a_profile_without_it) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 10);
    EXPECT_EQ(drawing(hide_memory(maker.profile_with_memory())), drawing(maker.profile()));
}

TEST(FoldRecursion, makes_one_node_of_what_has_not_returned_yet) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "eval", "apply", "eval", "apply", "leaf"}), 10);
    maker.sample(thread, maker.stack({"main", "eval", "eval"}), 5);
    maker.sample(thread, maker.stack({"main", "eval", "apply", "eval"}), 2);
    maker.sample(thread, maker.stack({"main", "leaf"}), 1);
    const Profile profile = fold_recursion(maker.profile());
    EXPECT_EQ(drawing(profile),
              "main 18/0\n  main 18/0\n    eval 17/7\n      apply 10/0\n        leaf 10/10\n"
              "    leaf 1/1\n");
    EXPECT_EQ(function_named(profile, "eval").total, 17U);
    EXPECT_EQ(profile.nodes[0].samples, 4U);
}

TEST(FoldRecursion, of_many_functions_that_call_each_other_ends) {
    // Walks up from each call would take 5 * 10^11 steps.
    constexpr std::uint32_t kDepth = 1'000'000;
    Profile profile;
    profile.functions.resize(kDepth);
    profile.categories = {{"main", NodeId{1}}};
    profile.nodes.resize(kDepth + 3);
    for (std::uint32_t id = 1; id < profile.nodes.size(); ++id) {
        profile.nodes[id].parent = NodeId{id - 1};
        profile.nodes[id].function = FunctionId{id - 1};
    }
    profile.nodes.back().function = FunctionId{kDepth / 2};
    profile.nodes.back().self = 1;
    link_children(profile.nodes);
    const Profile folded = fold_recursion(std::move(profile));
    ASSERT_EQ(folded.nodes.size(), kDepth / 2 + 2) << "what the last call leads back from is gone";
    EXPECT_EQ(folded.nodes.back().self, 1U);
}

TEST(HidePlugins, subtracts_the_topmost_plugin_nodes) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId plugin = maker.module("/opt/p.so", trace::ModuleKind::elf, true);
    const NodeId main = maker.frame({}, "main");
    const NodeId filter = maker.frame(main, "filter", plugin);
    maker.sample(thread, maker.frame(maker.frame(filter, "helper"), "malloc"), 5);
    maker.sample(thread, maker.frame(main, "helper"), 3);
    const Profile profile = hide_plugins(maker.profile());
    EXPECT_EQ(drawing(profile), "main 3/0\n  main 3/0\n    helper 3/3\n");
    EXPECT_EQ(function_named(profile, "helper").total, 3U);
    EXPECT_FALSE(profile.memory.has_value());
}

TEST(FoldInlined, gives_time_and_callees_to_the_function_with_the_code) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.inlined_frame({}, {"run", "main"}, {70, 12});
    maker.sample(thread, maker.inlined_frame(main, {"add", "sum", "work"}, {5, 31, 22}), 4);
    maker.sample(thread, maker.inlined_frame({}, {"main"}, {13}), 1);
    const Profile folded = fold_inlined(maker.profile());
    EXPECT_EQ(drawing(folded), "main 5/0\n  main 5/1\n    work 4/4\n");
    EXPECT_EQ(folded.nodes.at(3).call_line, 12U);
    EXPECT_EQ(function_named(folded, "run").total, 0U);
    BuildOptions options;
    options.fold_inlined = true;
    EXPECT_EQ(drawing(maker.profile(options)), drawing(folded));
}

TEST(FoldInlined, keeps_what_was_inlined_at_some_calls_only) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.inlined_frame({}, {"main"}, {10});
    maker.sample(thread, maker.inlined_frame({}, {"work", "main"}, {21, 14}), 1);
    maker.sample(thread, maker.inlined_frame(main, {"work"}, {22}), 2);
    EXPECT_EQ(drawing(fold_inlined(maker.profile())), "main 3/0\n  main 3/0\n    work 3/3\n");
}

TEST(Average, scales_by_the_sessions_length) {
    RecordingMaker maker;  // a session of 2 s
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "work"}), 1'000'000);
    maker.sample(thread, maker.stack({"main"}), 200'000);
    maker.end();
    const Profile minute = average(maker.profile(), 60);
    EXPECT_DOUBLE_EQ(minute.scale, 30);
    EXPECT_EQ(drawing(minute),
              "main 36000000/0\n  main 36000000/6000000\n    work 30000000/30000000\n");
    EXPECT_EQ(function_named(minute, "work").total, 30'000'000U);
    EXPECT_EQ(function_named(minute, "work").samples, 1U);
    EXPECT_EQ(minute.threads[0].total, 36'000'000U);
    EXPECT_EQ(minute.stats.sampled, 1'200'000U);
}

TEST(Average, of_an_averaged_profile_starts_from_the_recorded_one) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 1'000'000);
    maker.end();
    const Profile twice = average(average(maker.profile(), 60), 1);
    EXPECT_DOUBLE_EQ(twice.scale, 0.5);
    EXPECT_EQ(twice.nodes[0].total, 500'000U);
}

TEST(Average, changes_nothing_where_it_has_no_meaning) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 0);
    EXPECT_EQ(average(maker.profile(), 60).scale, 1.0);
    maker.end();
    EXPECT_EQ(average(maker.profile(), 0).scale, 1.0);
    maker.sample(ThreadId{1}, NodeId{1}, ~std::uint64_t{0} >> 2);
    EXPECT_EQ(average(maker.profile(), 600).scale, 1.0);
}

TEST(Focus, merges_the_subtrees_of_every_outermost_match) {
    RecordingMaker maker;
    const ThreadId main = maker.main_thread();
    const ThreadId worker = maker.thread(ProcessId{1}, "worker", 101);
    maker.sample(main, maker.stack({"main", "ns::run(int)", "leaf"}), 10);
    maker.sample(worker, maker.stack({"start", "ns::run(int)", "leaf", "ns::run(int)"}), 5);
    maker.sample(worker, maker.stack({"start", "other"}), 1);
    const std::string expected =
        " 15/0\n  ns::run(int) 15/0\n    leaf 15/10\n      ns::run(int) 5/5\n";
    EXPECT_EQ(drawing(focus(maker.profile(), "run")), "run" + expected);
    EXPECT_EQ(drawing(focus(maker.profile(), "ns::run")), "ns::run" + expected);
    EXPECT_EQ(drawing(focus(maker.profile(), "ns::run(int)")), "ns::run(int)" + expected);
    EXPECT_EQ(function_named(focus(maker.profile(), "run"), "ns::run(int)").total, 15U);
}

TEST(Focus, prefers_a_whole_name_to_a_part_of_one) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main", "runner", "run"}), 10);
    EXPECT_EQ(drawing(focus(maker.profile(), "run")), "run 10/0\n  run 10/10\n");
    EXPECT_EQ(drawing(focus(maker.profile(), "unne")), "unne 10/0\n  runner 10/0\n    run 10/10\n");
}

TEST(Focus, takes_all_code_of_a_module_that_is_no_file) {
    RecordingMaker maker;
    const ModuleId kernel = maker.module("[kernel]", trace::ModuleKind::kernel);
    const ThreadId thread = maker.main_thread();
    const NodeId call = maker.frame(maker.stack({"main"}), "do_syscall", kernel);
    maker.sample(thread, maker.frame(call, "vfs_read", kernel), 10);
    maker.sample(thread, maker.frame(maker.stack({"main", "work"}), "page_fault", kernel), 4);
    maker.sample(thread, maker.frame({}, "", maker.pseudo(trace::kKernelUnseen)), 1);
    EXPECT_EQ(drawing(focus(maker.profile(), "[kernel]")),
              "[kernel] 14/0\n"
              "  do_syscall 10/0\n"
              "    vfs_read 10/10\n"
              "  page_fault 4/4\n");
    EXPECT_EQ(drawing(focus(maker.profile(), trace::kKernelUnseen)),
              "[kernel, caller unseen] 1/0\n"
              "  [kernel, caller unseen] 1/1\n");
}

TEST(Focus, is_of_the_functions_that_find_focused_finds) {
    RecordingMaker maker;
    const ModuleId kernel = maker.module("[kernel]", trace::ModuleKind::kernel);
    maker.sample(maker.main_thread(), maker.frame(maker.stack({"main"}), "vfs_read", kernel), 10);
    const Profile profile = maker.profile();
    const auto names_of = [&profile](const char* name) {
        std::vector<std::string> names;
        for (const FunctionId id : find_focused(profile, name)) {
            names.push_back(profile.function(id).name);
        }
        return names;
    };
    EXPECT_EQ(names_of("[kernel]"), std::vector<std::string>{"vfs_read"});
    EXPECT_EQ(names_of("main"), std::vector<std::string>{"main"});
    EXPECT_EQ(names_of("[jit]"), std::vector<std::string>{});
}

TEST(Focus, without_a_match_is_empty) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 10);
    const Profile profile = focus(maker.profile(), "absent");
    EXPECT_TRUE(profile.categories.empty());
    ASSERT_EQ(profile.nodes.size(), 1U);
    EXPECT_EQ(profile.nodes[0].total, 0U);
}

TEST(Search, keeps_the_stacks_that_contain_a_match) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "parse_json", "read"}), 10);
    maker.sample(thread, maker.stack({"main", "render", "parse_font"}), 4);
    maker.sample(thread, maker.stack({"main", "render"}), 100);
    maker.sample(thread, maker.stack({"main", "idle"}), 50);
    EXPECT_EQ(drawing(search(maker.profile(), "parse")),
              "main 14/0\n"
              "  main 14/0\n"
              "    parse_json 10/0\n"
              "      read 10/10\n"
              "    render 4/0\n"
              "      parse_font 4/4\n");
}

TEST(Search, finds_categories_too) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"f"}), 10);
    maker.sample(maker.thread(ProcessId{1}, "loader", 101), maker.stack({"g"}), 4);
    EXPECT_EQ(drawing(search(maker.profile(), "load")), "loader 4/0\n  g 4/4\n");
}

TEST(FindFunctions, looks_at_names_and_sources) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main"}), 10);
    maker.sample(thread, maker.frame({}, "inflate", maker.module("/lib/libz.so.1")), 4);
    const Profile profile = maker.profile();
    ASSERT_EQ(find_functions(profile, "libz").size(), 1U);
    EXPECT_EQ(profile.function(find_functions(profile, "libz")[0]).name, "inflate");
    EXPECT_EQ(find_functions(profile, "mai").size(), 1U);
    EXPECT_TRUE(find_functions(profile, "zzz").empty());
}

TEST(SortBySelf, goes_on_to_totals_and_names) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"c"}), 7);
    maker.sample(thread, maker.stack({"b", "top"}), 9);
    maker.sample(thread, maker.stack({"b"}), 7);
    maker.sample(thread, maker.stack({"a"}), 7);
    const Profile profile = maker.profile();
    std::vector<FunctionId> ids = find_functions(profile, "");
    sort_by_self(profile, ids);
    std::string order;
    for (const FunctionId id : ids) {
        order += profile.function(id).name + " ";
    }
    EXPECT_EQ(order, "top b a c ");
}

}  // namespace
}  // namespace sample::callgraph

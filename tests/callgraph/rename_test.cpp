#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::callgraph {
namespace {

/// "f" for "f(int)".
std::string bare(const Function& function) {
    return function.name.substr(0, function.name.find('('));
}

/// Parts are called "f.part" here, other copies "f.copy".
Whole whole(const Function& function) {
    return {function.name.substr(0, function.name.find('.')), function.name.ends_with(".part")};
}

TEST(Rename, merges_functions_and_nodes_that_become_equal) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "f(int)", "g"}), 10);
    maker.sample(thread, maker.stack({"main", "f(long)", "g"}), 4);
    maker.sample(thread, maker.stack({"main", "h", "f(long)"}), 1);
    const Profile profile = rename(maker.profile(), bare);
    EXPECT_EQ(drawing(profile),
              "main 15/0\n"
              "  main 15/0\n"
              "    f 14/0\n"
              "      g 14/14\n"
              "    h 1/0\n"
              "      f 1/1\n");
    EXPECT_EQ(profile.functions.size(), 4U);
    EXPECT_EQ(function_named(profile, "f").total, 15U);
    EXPECT_EQ(function_named(profile, "f").samples, 3U);
    EXPECT_EQ(function_named(profile, "f").self_samples, 1U);
}

TEST(Rename, counts_recursion_once_that_comes_of_it) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"f(int)", "f(long)", "g"}), 10);
    const Profile profile = rename(maker.profile(), bare);
    EXPECT_EQ(drawing(profile), "main 10/0\n  f 10/0\n    f 10/0\n      g 10/10\n");
    EXPECT_EQ(function_named(profile, "f").total, 10U);
    EXPECT_EQ(function_named(profile, "f").samples, 1U);
}

TEST(Rename, keeps_the_smallest_line_that_is_known) {
    Profile profile;
    profile.nodes.resize(5);
    profile.categories = {{"main", NodeId{1}}};
    for (const std::uint32_t line : {0U, 30U, 20U}) {
        Function& function = profile.functions.emplace_back();
        function.name = "f(" + std::to_string(line) + ")";
        function.line = line;
        const auto id = static_cast<std::uint32_t>(profile.functions.size());
        profile.nodes[id + 1].parent = NodeId{1};
        profile.nodes[id + 1].function = FunctionId{id};
        profile.nodes[id + 1].self = 5;
    }
    link_children(profile.nodes);
    profile = rename(std::move(profile), bare);
    ASSERT_EQ(profile.functions.size(), 1U);
    EXPECT_EQ(profile.functions[0].line, 20U);
    EXPECT_EQ(profile.functions[0].total, 15U);
}

TEST(Rename, keeps_functions_of_other_modules_and_flags_apart) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId plugin = maker.module("/opt/p.so", trace::ModuleKind::elf, true);
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.frame(main, "f(int)"), 1);
    maker.sample(thread, maker.frame(main, "f(long)", plugin), 2);
    maker.sample(thread, maker.frame(main, "f(int)", maker.module("/lib/z.so")), 4);
    maker.sample(thread, maker.frame(maker.frame(main, "f(long)", plugin), "f(int)"), 8);
    EXPECT_EQ(drawing(rename(maker.profile(), bare)),
              "main 15/0\n  main 15/0\n    f 10/2\n      f 8/8\n    f 4/4\n    f 1/1\n");
    EXPECT_EQ(rename(maker.profile(), bare).functions.size(), 4U);
}

TEST(Rename, keeps_memory_management_apart) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "malloc"}), 10);
    maker.sample(thread, maker.stack({"main", "free"}), 3);
    maker.sample(thread, maker.frame({}, "[kernel]", maker.pseudo("[kernel]")), 1);
    const auto to_memory = [](const Function&) { return std::string{kMemoryName}; };
    const Profile profile = rename(maker.profile_with_memory(), to_memory);
    ASSERT_TRUE(profile.memory.has_value());
    EXPECT_EQ(profile.function(*profile.memory).total, 13U);
    EXPECT_EQ(profile.function(*profile.memory).source, "");
    EXPECT_EQ(
        drawing(profile),
        "main 14/0\n  [memory] 13/0\n    [memory] 13/0\n      [memory] 13/13\n  [memory] 1/1\n");
    EXPECT_EQ(hide_memory(rename(maker.profile_with_memory(), bare)).nodes[0].total, 1U);
}

TEST(Rename, keeps_names_for_which_there_is_no_other) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main", "(lambda)"}), 10);
    EXPECT_EQ(drawing(rename(maker.profile_with_memory(), bare)),
              drawing(maker.profile_with_memory()));
}

TEST(Rename, tells_what_was_inlined_somewhere) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.inlined_frame(main, {"f(int)", "caller"}, {5, 7}), 10);
    maker.sample(thread, maker.frame(maker.frame(main, "caller"), "f(long)"), 4);
    const Profile profile = rename(maker.profile_with_memory(), bare);
    ASSERT_EQ(drawing(profile), "main 14/0\n  main 14/0\n    caller 14/0\n      f 14/14\n");
    EXPECT_EQ(profile.nodes[4].inlining, Inlining::some);
}

TEST(FoldParts, joins_parts_that_their_function_jumps_to_as_siblings) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "f", "g"}), 10);
    maker.sample(thread, maker.stack({"main", "f.copy", "g"}), 4);
    maker.sample(thread, maker.stack({"main", "f.copy"}), 1);
    EXPECT_EQ(drawing(fold_parts(maker.profile_with_memory(), whole)),
              "main 15/0\n  main 15/0\n    f 15/1\n      g 14/14\n");
}

TEST(FoldParts, joins_parts_with_the_function_that_calls_them) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "f", "f.part", "g"}), 10);
    maker.sample(thread, maker.stack({"main", "f", "g"}), 3);
    maker.sample(thread, maker.stack({"main", "f", "f.part"}), 2);
    maker.sample(thread, maker.stack({"main", "f.part"}), 1);
    EXPECT_EQ(drawing(fold_parts(maker.profile_with_memory(), whole)),
              "main 16/0\n  main 16/0\n    f 16/3\n      g 13/13\n");
    EXPECT_EQ(function_named(fold_parts(maker.profile_with_memory(), whole), "f").samples, 4U);
}

TEST(FoldParts, joins_a_part_with_its_function_where_that_was_inlined) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.inlined_frame(main, {"f", "caller"}, {5, 7}), 10);
    const NodeId caller = maker.inlined_frame(main, {"f", "caller"}, {6, 7});
    maker.sample(thread, maker.frame(caller, "f.part"), 4);
    const Profile profile = fold_parts(maker.profile_with_memory(), whole);
    ASSERT_EQ(drawing(profile), "main 14/0\n  main 14/0\n    caller 14/0\n      f 14/14\n");
    EXPECT_EQ(profile.nodes[4].inlining, Inlining::some);
    EXPECT_EQ(profile.nodes[4].call_line, 7U);
}

TEST(FoldParts, keeps_recursion) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"f", "f.part", "f.part", "f", "f.copy"}), 10);
    EXPECT_EQ(drawing(fold_parts(maker.profile_with_memory(), whole)),
              "main 10/0\n  f 10/0\n    f 10/0\n      f 10/0\n        f 10/10\n");
}

TEST(FoldParts, gives_each_line_of_a_part_to_its_function) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    const NodeId caller = maker.inlined_frame(main, {"f"}, {7});
    maker.sample(thread, maker.inlined_frame(caller, {"f.part"}, {9}), 10);
    maker.sample(thread, caller, 5);
    BuildOptions options;
    options.by_line = true;
    const Profile profile = fold_parts(maker.profile(options), whole);
    ASSERT_EQ(drawing(profile), "main 15/0\n  main 15/0\n    f 10/10\n    f 5/5\n");
    EXPECT_EQ(profile.nodes[3].line, 9U);
    EXPECT_EQ(profile.nodes[4].line, 7U);
}

}  // namespace
}  // namespace sample::callgraph

// A callgraph upside down: whose time is it, and through whom did it come?
#include "callgraph/transforms.h"
#include "recording_fixture.h"

#include <gtest/gtest.h>

namespace sample::callgraph {
namespace {

Profile callers_of(const Profile& profile, const std::string& name, double least_percent = 0) {
    return invert(profile, find_focused(profile, name), least_percent);
}

TEST(Invert, has_functions_by_self_time_and_below_them_their_callers) {
    RecordingMaker maker;
    const ThreadId main = maker.main_thread();
    const ThreadId worker = maker.thread(ProcessId{1}, "worker", 101);
    maker.sample(main, maker.stack({"main", "parse", "malloc"}), 10);
    maker.sample(main, maker.stack({"main", "print", "malloc"}), 5);
    maker.sample(worker, maker.stack({"start", "print", "malloc"}), 2);
    maker.sample(main, maker.stack({"main", "parse"}), 1);
    const Profile profile = maker.profile();
    const Profile inverted = invert(profile, {}, 0);
    EXPECT_EQ(drawing(inverted),
              "malloc 17/17\n"
              "  parse 10/0\n    main 10/0\n      main 10/0\n"
              "  print 7/0\n    main 5/0\n      main 5/0\n    start 2/0\n      worker 2/0\n"
              "parse 1/1\n  main 1/0\n    main 1/0\n");
    EXPECT_EQ(inverted.nodes[0].total, 18U);
    EXPECT_EQ(inverted.nodes[0].samples, 4U);
    EXPECT_EQ(inverted.nodes[1].samples + inverted.nodes[2].samples, 4U);
    EXPECT_EQ(function_named(inverted, "parse").total, function_named(profile, "parse").total);
}

TEST(Invert, shows_a_functions_total_by_caller) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "parse", "alloc", "refill"}), 10);
    maker.sample(thread, maker.stack({"main", "alloc"}), 5);
    maker.sample(thread, maker.stack({"main", "other"}), 3);
    EXPECT_EQ(drawing(callers_of(maker.profile(), "alloc")),
              "alloc 15/5\n  parse 10/0\n    main 10/0\n      main 10/0\n"
              "  main 5/0\n    main 5/0\n");
}

TEST(Invert, counts_recursion_once) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "eval", "apply", "eval"}), 4);
    maker.sample(thread, maker.stack({"main", "eval"}), 1);
    EXPECT_EQ(drawing(callers_of(maker.profile(), "eval")), "eval 5/5\n  main 5/0\n    main 5/0\n");
    EXPECT_EQ(drawing(invert(maker.profile(), {}, 0)),
              "eval 5/5\n  apply 4/0\n    eval 4/0\n      main 4/0\n        main 4/0\n"
              "  main 1/0\n    main 1/0\n");
}

TEST(Invert, takes_the_outermost_of_several_functions) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "allocate", "allocate_page"}), 4);
    maker.sample(thread, maker.stack({"main", "allocate_page"}), 1);
    EXPECT_EQ(drawing(callers_of(maker.profile(), "alloc")),
              "allocate 4/0\n  main 4/0\n    main 4/0\n"
              "allocate_page 1/1\n  main 1/0\n    main 1/0\n");
}

TEST(Invert, goes_through_nodes_that_stand_for_no_function) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "malloc", "refill"}), 3);
    maker.sample(thread, maker.stack({"main", "free"}), 2);
    const Profile profile = maker.profile_with_memory();
    EXPECT_EQ(drawing(callers_of(profile, "malloc")),
              "malloc 3/0\n  [memory] 3/0\n    main 3/0\n      main 3/0\n");
    EXPECT_EQ(drawing(callers_of(profile, "[memory]")), "[memory] 5/0\n  main 5/0\n    main 5/0\n");
    EXPECT_EQ(callers_of(profile, "free").memory, profile.memory);
}

TEST(Invert, ends_where_a_node_weighs_too_little) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"main", "often", "leaf"}), 90);
    maker.sample(thread, maker.stack({"main", "rarely", "leaf"}), 10);
    EXPECT_EQ(drawing(invert(maker.profile(), {}, 11)),
              "leaf 100/100\n  often 90/0\n    main 90/0\n      main 90/0\n  rarely 10/0\n");
    EXPECT_EQ(drawing(invert(maker.profile(), {}, 10)),
              "leaf 100/100\n  often 90/0\n    main 90/0\n      main 90/0\n"
              "  rarely 10/0\n    main 10/0\n      main 10/0\n");
}

TEST(Invert, ends_where_it_has_as_many_nodes_as_it_may) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.stack({"a", "b", "c", "d", "e", "f", "g", "h"}), 1);
    const Profile whole = invert(maker.profile(), {}, 0);
    EXPECT_EQ(whole.nodes.size(), 10U);
    EXPECT_EQ(whole.stats.notes, maker.profile().stats.notes);
    const Profile cut = invert(maker.profile(), {}, 0, 4);
    EXPECT_EQ(drawing(cut), "h 1/1\n  g 1/0\n    f 1/0\n");
    ASSERT_FALSE(cut.stats.notes.empty());
    EXPECT_EQ(cut.stats.notes.back(),
              "callers of 1 node left out: there would be more than 4 nodes; --focus and a greater "
              "--min choose fewer");
}

TEST(Invert, marks_what_was_inlined_and_where) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    maker.sample(thread, maker.inlined_frame({}, {"work", "main"}, {21, 14}), 1);
    const Profile inverted = callers_of(maker.profile(), "work");
    ASSERT_EQ(inverted.nodes.size(), 4U);
    EXPECT_EQ(inverted.nodes[1].inlining, Inlining::all);
    EXPECT_EQ(inverted.nodes[1].call_line, 14U);
    maker.sample(thread, maker.inlined_frame({}, {"work", "other"}, {21, 15}), 1);
    maker.sample(thread, maker.stack({"third", "work"}), 1);
    const Profile mixed = callers_of(maker.profile(), "work");
    EXPECT_EQ(mixed.nodes[1].inlining, Inlining::some);
    EXPECT_EQ(mixed.nodes[1].call_line, 0U);
}

TEST(Invert, of_an_empty_profile_is_a_root) {
    EXPECT_EQ(invert(Profile{}, {}, 0).nodes.size(), 1U);
}

}  // namespace
}  // namespace sample::callgraph

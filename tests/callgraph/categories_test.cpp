#include "callgraph/categories.h"

#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sample::callgraph {
namespace {

std::set<std::string> names(const RecordingMaker& maker, CategoryBy by = CategoryBy::thread) {
    std::set<std::string> result;
    for (const Category& category : maker.profile({by}).categories) {
        EXPECT_TRUE(result.insert(category.name).second) << category.name << " appears twice";
    }
    return result;
}

using Names = std::set<std::string>;

TEST(StemOf, takes_the_number_off_a_name) {
    EXPECT_EQ(stem_of("worker-1"), "worker");
    EXPECT_EQ(stem_of("pool #12"), "pool");
    EXPECT_EQ(stem_of("pool-1-thread-3"), "pool-1-thread");
    EXPECT_EQ(stem_of("io(3)"), "io");
    EXPECT_EQ(stem_of("x264"), "x");
    EXPECT_EQ(stem_of("main"), "main");
    EXPECT_EQ(stem_of("123"), "123");
    EXPECT_EQ(stem_of(""), "");
}

TEST(Categories, group_threads_named_alike_but_for_their_number) {
    RecordingMaker maker;
    const ProcessId app = maker.process("/usr/bin/app");
    const NodeId node = maker.stack({"f"});
    maker.sample(maker.thread(app, "app", 100), node, 9);
    maker.sample(maker.thread(app, "worker-1", 101), node, 1);
    maker.sample(maker.thread(app, "worker-2", 102), node, 2);
    maker.sample(maker.thread(app, "x264", 103), node, 4);
    EXPECT_EQ(names(maker), (Names{"main", "worker", "x264"}));
    EXPECT_EQ(drawing(maker.profile()),
              "main 9/0\n  f 9/9\nx264 4/0\n  f 4/4\nworker 3/0\n  f 3/3\n");
}

TEST(Categories, tell_the_main_thread_from_those_that_inherited_its_name) {
    RecordingMaker maker;
    const ProcessId app = maker.process("/usr/bin/app");
    const NodeId node = maker.stack({"f"});
    maker.sample(maker.thread(app, "app", 100), node, 1);
    maker.sample(maker.thread(app, "app", 101), node, 1);
    EXPECT_EQ(names(maker), (Names{"app", "main"}));
}

TEST(Categories, call_a_program_by_the_name_that_it_was_started_by) {
    RecordingMaker maker;
    const ModuleId box = maker.module("/usr/bin/box");
    const NodeId node = maker.frame(NodeId{}, "f", box);
    const auto start = [&](const std::string& line, const char* thread, std::uint32_t pid) {
        maker.sample(maker.thread(maker.process("/usr/bin/box", pid, line), thread, pid), node, 1);
    };
    start("/bin/a-link-with-a-long-name -x", "a-link-with-a-l", 100);
    EXPECT_EQ(names(maker), Names{"main"});
    EXPECT_EQ(names(maker, CategoryBy::module), Names{"a-link-with-a-long-name"});
    EXPECT_EQ(names(maker, CategoryBy::process), Names{"a-link-with-a-long-name (100)"});
    EXPECT_EQ(maker.profile().functions.back().source, "a-link-with-a-long-name");
    // By another name, too; and whatever a program says of itself.
    start("ls", "ls", 101);
    start("master: waits", "box", 102);
    EXPECT_EQ(names(maker, CategoryBy::module), Names{"box"});
}

TEST(Categories, do_not_believe_a_command_line_that_is_not_the_threads_name) {
    RecordingMaker maker;
    const NodeId node = maker.frame(NodeId{}, "f", maker.module("/bin/sh"));
    maker.sample(maker.thread(maker.process("/bin/sh", 100, "-su"), "sh", 100), node, 1);
    EXPECT_EQ(names(maker, CategoryBy::module), Names{"sh"});
}

TEST(Categories, use_a_threads_last_name) {
    RecordingMaker maker;
    const ThreadId thread = maker.thread(maker.process("/usr/bin/app"), "app", 101);
    maker.sample(thread, maker.stack({"f"}), 1);
    maker.recording.record(trace::ThreadName{thread, "loader"});
    EXPECT_EQ(names(maker), Names{"loader"});
}

TEST(Categories, say_whose_thread_it_is_when_several_executables_were_recorded) {
    RecordingMaker maker;
    const NodeId node = maker.stack({"f"});
    maker.sample(maker.thread(maker.process("/usr/bin/git", 100), "git", 100), node, 1);
    maker.sample(maker.thread(maker.process("/usr/bin/git", 200), "git", 200), node, 1);
    maker.sample(maker.thread(maker.process("/bin/sh", 300), "sh", 300), node, 1);
    EXPECT_EQ(names(maker), (Names{"git: main", "sh: main"}));
}

TEST(Categories, tell_executables_of_one_name_apart) {
    RecordingMaker maker;
    const NodeId node = maker.stack({"f"});
    maker.sample(maker.thread(maker.process("/usr/bin/git", 100), "git", 100), node, 1);
    maker.sample(maker.thread(maker.process("/opt/git", 200), "git", 200), node, 1);
    EXPECT_EQ(names(maker), (Names{"/opt/git: main", "/usr/bin/git: main"}));
}

TEST(Categories, by_process_name_the_pid) {
    RecordingMaker maker;
    const NodeId node = maker.stack({"f"});
    maker.sample(maker.thread(maker.process("/usr/bin/git", 100), "git", 100), node, 1);
    maker.sample(maker.thread(maker.process("/usr/bin/git", 200), "git", 200), node, 1);
    maker.sample(maker.thread(maker.process("/usr/bin/git", 200), "git", 200), node, 1);
    EXPECT_EQ(names(maker, CategoryBy::process), (Names{"git (100)", "git (200)"}));
}

TEST(Categories, by_module_take_the_leafs) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.frame({}, "main");
    maker.sample(thread, maker.frame(main, "read", maker.module("/lib/libc.so.6")), 5);
    maker.sample(thread, main, 3);
    EXPECT_EQ(drawing(maker.profile({CategoryBy::module})),
              "libc.so.6 5/0\n  main 5/0\n    read 5/5\napp 3/0\n  main 3/3\n");
}

}  // namespace
}  // namespace sample::callgraph

// Which samples are left of a recording that is asked for some threads, processes or modules.
#include "callgraph/selection.h"

#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sample::callgraph {
namespace {

/// app with two workers, and a tool that it has started; 1 ns in each of their stacks, 2 in the
/// next.
class Selected : public testing::Test {
protected:
    Selected() {
        const ProcessId app = maker_.process("/usr/bin/app", 100);
        const ProcessId tool = maker_.process("/opt/tool", 200);
        const ThreadId main = maker_.thread(app, "app", 100);
        const ThreadId first = maker_.thread(app, "worker-1", 101);
        const ThreadId second = maker_.thread(app, "worker-2", 102);
        const ThreadId other = maker_.thread(tool, "tool", 200);
        maker_.thread(app, "idle", 103);
        const ModuleId libc = maker_.module("/lib/libc.so.6");
        const NodeId work = maker_.stack({"main", "work"});
        const NodeId copy = maker_.frame(work, "memcpy", libc);
        maker_.sample(main, work, 1);
        maker_.sample(first, work, 2);
        maker_.sample(first, copy, 4);
        maker_.sample(second, copy, 8);
        maker_.sample(other, work, 16);
        maker_.book(main, maker_.frame({}, "", maker_.pseudo(trace::kNotSampled)), 32);
        maker_.end_process(app, trace::EndKind::exited, 0, 100);
        maker_.end_process(tool, trace::EndKind::exited, 3, 20);
        maker_.end();
    }

    [[nodiscard]] Profile chosen(const Selection& selection) const {
        auto recording = select(maker_.recording, selection);
        EXPECT_TRUE(recording) << recording.error().message();
        return recording ? build_profile(*recording, maker_.symbols) : Profile{};
    }
    [[nodiscard]] std::uint64_t total(const Selection& selection) const {
        return chosen(selection).nodes.at(0).total;
    }
    [[nodiscard]] std::string refusal(const Selection& selection) const {
        const auto recording = select(maker_.recording, selection);
        return recording ? "chosen" : recording.error().message();
    }

    RecordingMaker maker_;
};

TEST_F(Selected, is_everything_unless_something_is_named) {
    EXPECT_EQ(drawing(chosen({})), drawing(maker_.profile()));
    EXPECT_EQ(chosen({}).threads.size(), 5U);
}

TEST_F(Selected, threads_go_by_name_id_and_group) {
    EXPECT_EQ(total({.threads = {"worker-1"}}), 6U);
    EXPECT_EQ(total({.threads = {"102"}}), 8U);
    EXPECT_EQ(total({.threads = {"102", "app"}}), 8U + 1 + 32);
    const Profile workers = chosen({.threads = {"app: worker"}});
    EXPECT_EQ(drawing(workers),
              "worker 14/0\n"
              "  main 14/0\n"
              "    work 14/2\n"
              "      memcpy 12/12\n");
    EXPECT_EQ(workers.stats.samples, 3U);
    EXPECT_EQ(workers.stats.recorded_samples, 5U);
    EXPECT_FALSE(workers.stats.effective_samples) << "of those that were chosen it is not known";
    EXPECT_EQ(workers.stats.booked, 0U);
    EXPECT_EQ(workers.stats.threads, 2U);
    EXPECT_EQ(workers.stats.processes, 1U);
    EXPECT_FALSE(workers.stats.process_cpu_ns) << "the kernel counted other threads, too";
    ASSERT_EQ(workers.threads.size(), 2U);
    EXPECT_EQ(workers.threads[1].name, "worker-2");
    EXPECT_EQ(workers.threads[1].pid, 100U);
}

TEST_F(Selected, processes_go_by_file_path_and_id) {
    for (const char* const name : {"tool", "/opt/tool", "200"}) {
        const Profile tool = chosen({.processes = {name}});
        EXPECT_EQ(tool.nodes.at(0).total, 16U) << name;
        EXPECT_EQ(tool.stats.process_cpu_ns, 20U) << "all of it is there";
        ASSERT_EQ(tool.processes.size(), 1U);
        EXPECT_EQ(tool.processes[0].ending, "exited with 3");
    }
}

TEST_F(Selected, modules_are_those_of_innermost_frames) {
    EXPECT_EQ(total({.modules = {"libc.so.6"}}), 12U);
    EXPECT_EQ(total({.modules = {"/usr/bin/app"}}), 19U);
    EXPECT_EQ(total({.modules = {trace::kNotSampled}}), 32U);
    EXPECT_EQ(total({.threads = {"worker-1"}, .modules = {"libc.so.6"}}), 4U);
}

TEST_F(Selected, threads_without_samples_are_found_among_all) {
    const auto chosen = [&](const Selection& selection) {
        const auto threads = select_threads(maker_.recording, selection);
        std::string text;
        for (const bool is_chosen : threads ? *threads : std::vector<bool>{}) {
            text += is_chosen ? '1' : '0';
        }
        return text;
    };
    EXPECT_EQ(chosen({}), "111111");
    EXPECT_EQ(chosen({.threads = {"idle"}}), "000001");
    EXPECT_EQ(chosen({.threads = {"app: worker"}}), "001100");
    EXPECT_EQ(chosen({.processes = {"200"}}), "000010");
    EXPECT_EQ(chosen({.threads = {"worker-1"}, .processes = {"200"}}), "000000");
    EXPECT_EQ(select_threads(maker_.recording, {.threads = {"none"}}).error().message(),
              "--thread: no thread is called 'none': choose one of app, worker-1, worker-2, tool, "
              "idle");
}

TEST_F(Selected, a_name_that_nothing_has_is_told_what_there_is) {
    EXPECT_EQ(
        refusal({.threads = {"app", "idle"}}),
        "--thread: no thread with samples is called 'idle': choose one of app, tool, worker-2, "
        "worker-1");
    EXPECT_EQ(refusal({.processes = {"sh"}}),
              "--process: no process with samples is called 'sh': choose one of app, tool");
    EXPECT_NE(refusal({.threads = {"app"}, .modules = {"libc.so.6"}}).find("no sample is of these"),
              std::string::npos);
    const ProcessId process = maker_.process("/usr/bin/many", 300);
    for (std::uint32_t i = 0; i < 20; ++i) {
        maker_.sample(maker_.thread(process, "t" + std::to_string(i), 300 + i),
                      maker_.stack({"run"}), 100 - i);
    }
    EXPECT_TRUE(refusal({.threads = {"none"}})
                    .ends_with("choose one of t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, and 14 more"))
        << refusal({.threads = {"none"}});
}

}  // namespace
}  // namespace sample::callgraph

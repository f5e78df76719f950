// The wall clock: where threads wait, and how long. Bounds are shares of what the target itself
// measured; how long anything takes is the machine's affair.
#include "edges.h"
#include "session.h"
#include "tests/built.h"

#include <algorithm>

namespace sample::e2e {
namespace {

class WallClock : public Session {
protected:
    /// Records by the wall clock, at its default frequency.
    [[nodiscard]] Outcome observe(const Words& command, const Words& options = {}) const {
        Words arguments = {"--quiet", "--clock", "wall", "--force", "-o", recording()};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), command.begin(), command.end());
        return sample(arguments);
    }
};

/// The node of a category: the threads of that name.
const nlohmann::json* threads_named(const nlohmann::json& exported, const std::string& name) {
    for (const auto& category : exported["Categories"]) {
        if (category["Name"] == name) {
            return &exported["Nodes"].at(category["NodeId"].get<std::size_t>() - 1);
        }
    }
    return nullptr;
}

double life_us(const nlohmann::json& exported, const std::string& name) {
    const nlohmann::json* node = threads_named(exported, name);
    return node == nullptr ? -1 : (*node)["TotalDuration"].get<double>();
}

/// Whether some function whose name contains `callee` was called, through however many others, by
/// one whose name contains `caller`.
bool is_below(const nlohmann::json& exported, const std::string& caller,
              const std::string& callee) {
    const std::vector<Edge> edges = edges_of(exported);
    std::vector<std::string> reached{caller};
    for (std::size_t next = 0; next < reached.size(); ++next) {
        for (const Edge& edge : edges) {
            if (edge.caller.find(reached[next]) == std::string::npos) {
                continue;
            }
            if (edge.callee.find(callee) != std::string::npos) {
                return true;
            }
            if (std::find(reached.begin(), reached.end(), edge.callee) == reached.end()) {
                reached.push_back(edge.callee);
            }
        }
    }
    return false;
}

struct Way {
    const char* thread;
    const char* call;  ///< Of libc, below the function that is named after the thread.
};

class WaysToWait : public WallClock, public testing::WithParamInterface<Words> {};

TEST_P(WaysToWait, each_has_its_own_stack_and_its_whole_life) {
    const Outcome outcome = observe({target("waits"), "1"}, GetParam());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const nlohmann::json& exported = seen.exported();
    for (const Way& way :
         {Way{"in_cond", "cond_wait"}, Way{"in_read", "read"}, Way{"in_epoll", "epoll_wait"},
          Way{"in_sleep", "nanosleep"}, Way{"in_futex", "syscall"}, Way{"in_raw", "syscall"},
          Way{"in_pause", "pause"}}) {
        SCOPED_TRACE(way.thread);
        const double truth_us = told(outcome.out, std::string{way.thread} + "_ns") / 1000;
        const std::string function = std::string{"waits_"} + way.thread;
        EXPECT_NEAR(life_us(exported, way.thread) / truth_us, 1, 0.05);
        EXPECT_NEAR(seen.total_us(function) / truth_us, 1, 0.1);
        EXPECT_TRUE(is_below(exported, function, way.call));
    }
    EXPECT_LE(seen.stat("incomplete_us"), 0.01 * seen.roots_us());
    EXPECT_EQ(seen.text_stat("clock"), "wall");
}

std::string name_of(const testing::TestParamInfo<Words>& options) {
    return options.param.empty() ? "auto" : options.param[0].substr(2) + "_" + options.param[1];
}

INSTANTIATE_TEST_SUITE_P(Options, WaysToWait,
                         testing::Values(Words{}, Words{"--source", "thread"},
                                         Words{"--freq", "10k"}),
                         name_of);

TEST_F(WallClock, waits_that_the_kernel_hides_are_told_with_what_shows_them) {
    ASSERT_EQ(observe({target("waits"), "0.3", "hidden"}).exit_code, 0);
    const auto says_so = [this] {
        const nlohmann::json stats = Recording{recording()}.stats();
        return stats["notes"].dump().find("sample attach --off-cpu") != std::string::npos;
    };
    EXPECT_TRUE(says_so());
    ASSERT_EQ(observe({target("waits"), "0.3"}).exit_code, 0);
    EXPECT_FALSE(says_so());
}

TEST_F(WallClock, work_and_sleep_have_their_shares) {
    const Outcome outcome = observe({target("sleepy"), "6", "14", "2"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const double busy_us = told(outcome.out, "busy_ns") / 1000;
    const double idle_us = told(outcome.out, "idle_ns") / 1000;
    const double delayed_us = told(outcome.out, "delayed_ns") / 1000;
    const double busy_cpu_us = told(outcome.out, "cpu_ns") / 1000;
    const double life = life_us(seen.exported(), "worker");
    EXPECT_GT(life, 0.97 * (busy_us + idle_us + delayed_us));
    EXPECT_LT(life, 1.03 * told(outcome.out, "life_ns") / 1000);
    // What the others on this machine took of the thread's time is told apart.
    const double for_processor_us = seen.total_us("[waiting for a processor]");
    EXPECT_NEAR(seen.total_us("busy_part") / life, busy_cpu_us / life,
                six_sigma(busy_cpu_us / life, seen.effective_samples()) + 0.01);
    // What a hypervisor took while it worked the kernel tells of no thread: it looks like sleep.
    const double stolen_us = told(outcome.out, "stolen_ns") / 1000;
    EXPECT_LE(seen.total_us("idle_part"), idle_us + stolen_us + 0.03 * life);
    EXPECT_GE(seen.total_us("idle_part"), idle_us - for_processor_us - 0.03 * life);
}

// The sampling thread works on the side of the program, and is none of it.
TEST_F(WallClock, a_first_thread_that_has_left_waits_no_more_and_others_have_stacks) {
    const Outcome outcome = observe({target("first_leaves"), "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const double alone_us = told(outcome.out, "alone_ns") / 1000;
    const double first_us = told(outcome.out, "first_ns") / 1000;
    EXPECT_NEAR(seen.total_us("waits_alone") / alone_us, 1, 0.1);
    EXPECT_LE(seen.stat("incomplete_us"), 0.01 * seen.roots_us());
    EXPECT_NEAR(life_us(seen.exported(), "stays") / (first_us + alone_us), 1, 0.1);
    EXPECT_LE(life_us(seen.exported(), "main"), first_us + 0.1 * alone_us);
    EXPECT_EQ(seen.stat("threads"), 2);
}

TEST_F(WallClock, a_brought_stack_is_read_where_it_is_used_and_what_lies_above_is_not) {
    const Outcome outcome = observe({target("brought_stack"), "0.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "touched"), 0);
    const Recording seen{recording()};
    EXPECT_TRUE(is_below(seen.exported(), "has_large_array", "nanosleep"));
    EXPECT_GT(seen.total_us("start_thread"), told(outcome.out, "waited_ns") / 1000 * 0.9)
        << "behind the array, too, the stack is known";
}

// The thread that looks is stopped, too.
TEST_F(WallClock, while_a_process_is_stopped_nobody_waits_where_he_did_not) {
    const Outcome outcome = observe({target("stopped"), "1000"}, {"--no-children"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    for (const std::string function : {"waits_first", "waits_second", "works"}) {
        const double truth_us = told(outcome.out, function + "_ns") / 1000;
        EXPECT_LT(seen.total_us(function), truth_us + 250'000) << function;
    }
    EXPECT_GT(seen.roots_us(), 1'500'000) << "but it lives";
}

TEST_F(WallClock, the_main_thread_lives_as_long_as_the_process) {
    const Outcome outcome = observe({target("threads"), "2", "0.3"});
    const Recording seen{recording()};
    EXPECT_NEAR(life_us(seen.exported(), "main") / seen.stat("wall_us"), 1, 0.05);
    EXPECT_GT(seen.stat("agent_cpu_us"), 0);
    EXPECT_EQ(seen.stat("threads"), 3);
}

// Only a process with one thread may make a user namespace: ours ends before.
TEST_F(WallClock, a_program_that_must_have_one_thread_has_it) {
    const Outcome bare = run_here({"unshare", "--user", "true"});
    EXPECT_EQ(observe({"unshare", "--user", "true"}).exit_code, bare.exit_code);
    EXPECT_EQ(observe({"unshare", "--user", "true"}, {"--source", "thread"}).exit_code,
              bare.exit_code);
}

TEST_F(WallClock, no_system_call_is_interrupted) {
    const Outcome outcome = observe({target("eintr"), "100"}, {"--freq", "10k"});
    const Recording seen{recording()};
    if (seen.text_stat("source") != "sigtrap") {
        GTEST_SKIP() << "the source here is " << seen.text_stat("source");
    }
    EXPECT_GT(seen.total_us("nanosleep"), 0);
    EXPECT_EQ(outcome.out, run_here({target("eintr"), "100"}).out);
}

// Nothing is set up then that could be reported by.
TEST_F(WallClock, a_program_runs_on_where_its_source_is_refused) {
    const Outcome outcome =
        run_here({built::kConfine, "--refuse-perf", "EPERM", sample_path(), "--quiet", "--clock",
                  "wall", "--source", "sigtrap", "-o", recording(), "--", target("waits"), "0.2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_GT(told(outcome.out, "in_sleep_ns"), 0);
}

}  // namespace
}  // namespace sample::e2e

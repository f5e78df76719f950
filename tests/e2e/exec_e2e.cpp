// Programs that replace themselves, start others, or fail to, at 10 kHz: no death, no hang.
#include "session.h"

#include <algorithm>

namespace sample::e2e {
namespace {

class Exec : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(Exec, a_storm_is_survived) {
    const Outcome outcome = record({target("self_exec"), GetParam(), "40"});
    EXPECT_EQ(outcome.out, "execs=40\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
}

TEST_P(Exec, a_storm_is_survived_by_the_agent_alone) {
    const Outcome outcome = preload({target("self_exec"), GetParam(), "20"});
    EXPECT_EQ(outcome.out, "execs=20\n");
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, Exec,
                         testing::Values("execve", "execv", "execvp", "execvpe", "execl", "execlp",
                                         "execle", "fexecve", "execveat", "memfd", "execve-number",
                                         "execveat-number", "shell", "vfork", "spawn", "spawnp"),
                         [](const auto& mode) {
                             std::string name = mode.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

using ExecOutcome = Session;

TEST_F(ExecOutcome, sampling_goes_on_after_a_failing_exec) {
    const Outcome outcome = record({target("failing_exec"), "50", "0.5"});
    EXPECT_EQ(outcome.out, "failures=50\n") << outcome.err;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("after_failure"), 0.8 * 500'000);
}

TEST_F(ExecOutcome, as_many_arguments_fit_as_without_us) {
    const Outcome bare = run_here({target("argument_limit")});
    const Outcome outcome = record({target("argument_limit")});
    EXPECT_EQ(bare.exit_code, 0) << bare.err;
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, bare.out);
    EXPECT_GT(told(bare.out, "none"), told(bare.out, "own"));
}

TEST_F(ExecOutcome, a_thread_may_exec_while_others_work) {
    const Outcome outcome = record({target("exec_churn"), "25", "3"});
    EXPECT_EQ(outcome.out, "execs=25\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.signal, 0);
}

TEST_F(ExecOutcome, the_image_after_an_exec_is_sampled) {
    const Outcome outcome = record({"sh", "-c", "exec " + target("three_leaves") + " 0.5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(Recording{recording()}.total_us("leaf_"), 0.8 * 500'000);
}

TEST_F(ExecOutcome, forked_children_are_recorded_unless_told_not_to) {
    const Outcome with = record({target("fork_tree"), "2", "2", "0.1"});
    EXPECT_EQ(told(with.out, "processes"), 7) << with.err;
    const Recording all{recording()};
    EXPECT_EQ(all.stat("processes"), 7);
    EXPECT_GT(all.total_us("child_work"), 0.8 * 600'000);
    EXPECT_GT(all.total_us("parent_work"), 0.8 * 100'000);

    const Outcome without =
        sample({"--quiet", "--freq", "10k", "--no-children", "-o", file("one.utrace"), "--",
                target("fork_tree"), "2", "2", "0.1"});
    EXPECT_EQ(told(without.out, "processes"), 7) << without.err;
    const Recording one{file("one.utrace")};
    EXPECT_EQ(one.stat("processes"), 1);
    EXPECT_EQ(one.total_us("child_work"), 0);
    EXPECT_GT(one.total_us("parent_work"), 0.8 * 100'000);
}

}  // namespace
}  // namespace sample::e2e

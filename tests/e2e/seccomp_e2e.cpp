// Programs that confine themselves with seccomp: never killed by a system call of ours, sampled as
// long as the filter allows it, and what is not sampled is said.
#include "each_source.h"

#include <algorithm>

namespace sample::e2e {
namespace {

constexpr const char* kSeconds = "0.1";

class Seccomp : public EachSource {
protected:
    [[nodiscard]] std::string notes() const {
        const Outcome stats = sample({"report", "--view", "stats", "--json", recording()});
        return nlohmann::json::parse(stats.out, nullptr, false).value("notes", Words{}).empty()
                   ? ""
                   : stats.out;
    }

    /// Of what `command` has recorded.
    void expect_stopped(const Words& command) const {
        const Recording seen = recorded();
        EXPECT_GT(seen.total_us("before_confinement"), 0);
        EXPECT_EQ(seen.total_us("after_confinement"), 0);
        // Half of the work, at least, is known to be missing; it takes no longer than bare.
        EXPECT_GT(seen.total_us("[not sampled]"), 0.35 * run_here(command).cpu_us);
        EXPECT_NE(notes().find("seccomp"), std::string::npos) << notes();
    }

    void expect_sampled_on() const {
        const Recording seen = recorded();
        // Equal work takes as much time as the machine likes; no part of it is unseen.
        EXPECT_GT(seen.total_us("after_confinement"), 0.2 * seen.total_us("before_confinement"));
        EXPECT_LT(seen.total_us("[not sampled]"), 0.15 * seen.roots_us());
    }
};

TEST_P(Seccomp, a_filter_that_kills_ends_the_sampling_only) {
    for (const char* way : {"prctl", "seccomp", "raw-prctl"}) {
        SCOPED_TRACE(way);
        const Words command = {target("confined"), "kill", way, kSeconds};
        EXPECT_EQ(expect_same(command).exit_code, 0);
        expect_stopped(command);
    }
}

TEST_P(Seccomp, a_filter_that_refuses_ends_the_sampling_only) {
    const Words command = {target("confined"), "errno", "prctl", kSeconds};
    EXPECT_EQ(expect_same(command).exit_code, 0);
    expect_stopped(command);
}

TEST_P(Seccomp, a_filter_that_traps_shows_the_program_no_trap_of_ours) {
    const Words command = {target("confined"), "trap", "seccomp", kSeconds};
    EXPECT_EQ(expect_same(command).out, "traps 0\n");
    expect_stopped(command);
}

TEST_P(Seccomp, strict_mode_ends_the_sampling_only) {
    if (is_under_seccomp()) {
        GTEST_SKIP() << "this process is under a seccomp filter";
    }
    for (const char* way : {"prctl", "seccomp"}) {
        SCOPED_TRACE(way);
        const Words command = {target("confined"), "strict", way, kSeconds};
        EXPECT_EQ(expect_same(command).exit_code, 0);
        expect_stopped(command);
    }
}

TEST_P(Seccomp, a_filter_for_all_threads_spares_those_inside_the_handler) {
    for (int time = 0; time < 3; ++time) {
        EXPECT_EQ(expect_same({target("confined"), "kill", "tsync", "0.05"}).exit_code, 0);
    }
}

TEST_P(Seccomp, a_filter_that_forbids_nothing_of_ours_changes_nothing) {
    expect_same({target("confined"), "wide", "prctl", kSeconds});
    expect_sampled_on();
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("processes"), 4);  // itself, its child, a shell and that one's child
    EXPECT_GT(seen.total_us("confined_child"), 0);
}

TEST_P(Seccomp, a_filter_of_what_sampling_takes_lets_it_go_on) {
    const Words command = {target("confined"), "enough", "prctl", kSeconds};
    EXPECT_EQ(expect_same(command).exit_code, 0);
    if (std::string{GetParam()} == "thread") {
        expect_stopped(command);  // its own thread takes more
    } else {
        expect_sampled_on();
    }
}

TEST_P(Seccomp, a_filter_under_which_nobody_can_join_leaves_children_alone) {
    for (const char* way : {"prctl", "seccomp"}) {
        SCOPED_TRACE(way);
        expect_same({target("confined"), "local", way, kSeconds});
        expect_sampled_on();
        const Recording seen{recording()};
        const nlohmann::json& processes = seen.stats()["process_list"];
        EXPECT_EQ(std::count_if(processes.begin(), processes.end(),
                                [](const auto& process) { return process["source"] != "none"; }),
                  1);
        EXPECT_NE(notes().find("children"), std::string::npos) << notes();
    }
}

SAMPLE_FOR_EACH_SOURCE(Seccomp);

using SeccompAlone = Session;

TEST_F(SeccompAlone, behaves_the_same_with_the_agent_alone) {
    for (const char* filter : {"kill", "strict", "local"}) {
        if (std::string_view{filter} == "strict" && is_under_seccomp()) {
            continue;
        }
        SCOPED_TRACE(filter);
        expect_same_behaviour({target("confined"), filter, "prctl", "0.1"});
    }
}

using PastFork = Session;

TEST_F(PastFork, calls_by_number_ask_nothing_that_a_filter_kills_for) {
    expect_same_behaviour({target("confined_calls")});
}

TEST_F(PastFork, children_made_past_libcs_fork_behave_the_same) {
    expect_same_behaviour({target("raw_fork")});
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
}

}  // namespace
}  // namespace sample::e2e

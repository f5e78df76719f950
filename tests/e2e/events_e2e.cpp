// What --event counts, against a target that says how often each event happened.
#include "kernel_setting.h"
#include "session.h"
#include "tests/built.h"
#include "tracefs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace sample::e2e {
namespace {

class Events : public Session {
protected:
    /// `sample --event EVENT -o FILE -- faults WORDS`.
    [[nodiscard]] Outcome record_event(const std::string& event, const Words& words) const {
        Words arguments = {"--quiet", "--force", "-o", recording(),
                           "--event", event,     "--", target("faults")};
        arguments.insert(arguments.end(), words.begin(), words.end());
        return sample(arguments);
    }
    /// The same with tracefs at hand.
    [[nodiscard]] Outcome record_tracepoint(const std::string& event, const Words& words) const {
        Words line = {sample_path(), "--quiet", "--force",       "-o", recording(), "--event",
                      event,         "--",      target("faults")};
        line.insert(line.end(), words.begin(), words.end());
        return run_here(with_tracefs(line));
    }
};

/// Faults that the loader, the exit and our own code cause beside the program's.
constexpr double kOfOthers = 300;

TEST_F(Events, page_faults_are_in_the_function_that_touches_the_pages) {
    const Outcome outcome = record_event("page-faults", {"touch", "5000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_NEAR(seen.self_us("touch_pages"), 5000, 5);
    EXPECT_GE(seen.roots_us(), told(outcome.out, "minor_faults"));
    EXPECT_LE(seen.roots_us(), told(outcome.out, "all_minor_faults") + kOfOthers);
    EXPECT_EQ(seen.stat("total_count"), seen.roots_us());
    EXPECT_EQ(seen.exported()["Event"], "page-faults");
    EXPECT_EQ(seen.exported()["Unit"], "page-faults");
}

TEST_F(Events, a_period_gives_fewer_samples_and_the_same_count) {
    const Outcome outcome = record_event("page-faults:10", {"touch", "5000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_NEAR(seen.self_us("touch_pages"), 5000, 50);
    EXPECT_NEAR(seen.stat("samples"), 505, 20);
    EXPECT_GE(seen.roots_us(), told(outcome.out, "minor_faults"));
}

TEST_F(Events, faults_of_all_threads_are_counted) {
    const Outcome outcome = record_event("minor-faults", {"threads", "4", "1000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_NEAR(seen.self_us("touch_pages"), 4000, 5);
    EXPECT_GE(seen.roots_us(), told(outcome.out, "minor_faults"));
    EXPECT_LE(seen.roots_us(), told(outcome.out, "all_minor_faults") + kOfOthers);
}

TEST_F(Events, one_sample_carries_all_faults_of_a_system_call) {
    const Outcome outcome = record_event("page-faults", {"read", "5000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_NEAR(seen.self_us("read"), 5000, 30);
    EXPECT_GE(seen.roots_us(), told(outcome.out, "minor_faults"));
    EXPECT_LE(seen.roots_us(), told(outcome.out, "all_minor_faults") + kOfOthers);
}

TEST_F(Events, what_no_sample_carries_is_still_counted) {
    const Outcome outcome = record_event("page-faults:4000", {"threads", "4", "1000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("[not sampled]"), 3900);
    EXPECT_GE(seen.roots_us(), told(outcome.out, "minor_faults"));
    EXPECT_LE(seen.roots_us(), told(outcome.out, "all_minor_faults") + kOfOthers);
}

TEST_F(Events, context_switches_of_a_sleeper_are_in_its_sleep_and_do_not_wake_it) {
    const Outcome outcome = record_event("context-switches", {"sleep", "200"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(told(outcome.out, "interrupted"), 0);
    EXPECT_GE(seen.total_us("sleep_often"), 200);
    EXPECT_NEAR(seen.roots_us(), told(outcome.out, "switches"), 20);
}

TEST_F(Events, counts_go_on_across_an_exec) {
    const Outcome outcome = sample({"--quiet", "-o", recording(), "--event", "page-faults", "--",
                                    "sh", "-c", "exec " + target("faults") + " touch 3000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_NEAR(seen.self_us("touch_pages"), 3000, 5);
}

TEST_F(Events, come_from_the_environment_too) {
    const Outcome outcome = run_here({target("faults"), "touch", "1000"},
                                     {.settings = {{"LD_PRELOAD", agent_path()},
                                                   {"SAMPLE_EVENT", "page-faults"},
                                                   {"SAMPLE_OUTPUT", recording()}}});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NEAR(whole_recording().self_us("touch_pages"), 1000, 5);
}

TEST_F(Events, are_shown_as_counts) {
    ASSERT_EQ(record_event("page-faults", {"touch", "5000"}).exit_code, 0);
    for (const char* view : {"callgraph", "functions", "threads"}) {
        const Outcome report = sample({"report", "--view", view, recording()});
        EXPECT_NE(report.out.find("page-faults"), std::string::npos) << report.out;
        EXPECT_EQ(report.out.find(" ms"), std::string::npos) << report.out;
    }
    const Outcome milliseconds = sample({"report", "--unit", "ms", recording()});
    EXPECT_EQ(milliseconds.exit_code, 2);
    EXPECT_NE(milliseconds.err.find("leave --unit out"), std::string::npos) << milliseconds.err;
    const Outcome shares = sample({"report", "--view", "functions", "--unit", "%", recording()});
    EXPECT_EQ(shares.exit_code, 0) << shares.err;
    const Outcome folded = sample({"export", "--format", "folded", "-o", "-", recording()});
    EXPECT_NE(folded.out.find("touch_pages(char volatile*, unsigned long) 50"), std::string::npos)
        << folded.out;
}

TEST_F(Events, that_the_machine_does_not_count_are_refused_before_the_program_runs) {
    const Outcome outcome = record_event("cycles", {"touch", "10"});
    if (outcome.exit_code == 0) {
        EXPECT_EQ(Recording{recording()}.exported()["Unit"], "cycles");
        return;
    }
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("--event cycles is "), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(recording()));
}

TEST_F(Events, tracepoints_are_counted_in_their_callers) {
    if (const std::string lack = no_tracefs(); !lack.empty()) {
        GTEST_SKIP() << lack;
    }
    const Outcome outcome = record_tracepoint("syscalls:sys_enter_write", {"write", "1000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.total_us("write_often"), 1000);
    EXPECT_NEAR(seen.roots_us(), 1001, 2) << "and one for what it tells";
    EXPECT_EQ(seen.exported()["Event"], "syscalls:sys_enter_write");
}

TEST_F(Events, that_the_sampling_signal_causes_are_refused) {
    if (const std::string lack = no_tracefs(); !lack.empty()) {
        GTEST_SKIP() << lack;
    }
    for (const char* event : {"signal:signal_deliver", "raw_syscalls:sys_enter"}) {
        const Outcome outcome = record_tracepoint(event, {"write", "1"});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find("caused by the sampling signal"), std::string::npos)
            << outcome.err;
    }
}

/// Weaker users are made by tests/tools/confine.
class EventsOfUsers : public Events {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root can become other users";
        }
    }
    [[nodiscard]] Outcome confined(Words limits, const Words& arguments) const {
        limits.insert(limits.begin(), built::kConfine);
        limits.insert(limits.end(), {sample_path(), "--quiet", "--force", "-o", recording()});
        limits.insert(limits.end(), arguments.begin(), arguments.end());
        return run_here(limits);
    }
    void expect_refusal(const Words& limits, const std::string& event, std::string_view why) const {
        const Outcome outcome = confined(limits, {"--event", event, "--", "echo", "it runs"});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    }
};

TEST_F(EventsOfUsers, who_may_open_none_are_told_what_to_do) {
    expect_refusal({"--refuse-perf", "EPERM"}, "page-faults", "kernel.perf_event_paranoid=1");
    expect_refusal({"--refuse-perf", "ENOSYS"}, "task-clock",
                   "--event task-clock cannot be opened");
}

TEST_F(EventsOfUsers, without_sigtrap_get_those_of_user_code) {
    expect_refusal({"--no-sigtrap"}, "context-switches", "needs source sigtrap");
    const Outcome outcome = confined(
        {"--no-sigtrap"}, {"--event", "page-faults", "--", target("faults"), "touch", "1000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("source"), "perf");
    EXPECT_NEAR(seen.self_us("touch_pages"), 1000, 20);
}

TEST_F(EventsOfUsers, who_may_not_see_the_kernel_get_no_events_of_it) {
    const KernelSetting paranoid{"perf_event_paranoid", "2"};
    if (!paranoid.is_set()) {
        GTEST_SKIP() << paranoid.problem();
    }
    // An ordinary user cannot read a build folder that is root's.
    std::filesystem::permissions(file(""), std::filesystem::perms{0755});
    const std::string copy = file("sample");
    std::filesystem::copy_file(sample_path(), copy);
    const Outcome outcome = run_here({built::kConfine, "--user", "65534", copy, "--event",
                                      "context-switches", "--", "echo", "it runs"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("it would count nothing"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace sample::e2e

// Where threads wait, and how long, of processes that are recorded from outside. Bounds are what
// the target's threads say of themselves.
#include "beside.h"
#include "edges.h"
#include "kernel_setting.h"
#include "reported.h"
#include "tracefs.h"

#include <iostream>

namespace sample::e2e {
namespace {

/// Whether `recorder` watches by now: it has its events, and waits in poll() for what they write.
bool has_begun(const std::string& recorder) {
    std::error_code error;
    for (std::filesystem::directory_iterator at{"/proc/" + recorder + "/fd", error}, end;
         !error && at != end; at.increment(error)) {
        if (std::filesystem::read_symlink(*at, error).string().find("perf_event") !=
            std::string::npos) {
            constexpr const char* kPoll = "7 ";
            return text_of("/proc/" + recorder + "/syscall").starts_with(kPoll);
        }
    }
    return false;
}

/// A program that lets itself be watched from its beginning: it is stopped.
void record_whole(Beside& program, const Words& recorder_words, const std::string& err) {
    while (program.state() != 'T') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    Beside recorder{recorder_words, err};
    while (!has_begun(recorder.pid()) && recorder.state() != 'Z') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    program.signal(SIGCONT);
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
}

class AttachOffCpu : public Attach {
protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "the kernel's switches are root's to see";
        }
    }
    /// All of `naps`; returns what it says.
    [[nodiscard]] std::string record_naps(const Words& options = {}) const {
        const auto program = start({target("naps"), "100"});
        Words words{sample_path(), "attach", "--quiet", "--off-cpu", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(program->pid());
        record_whole(*program, no_tracefs().empty() ? with_tracefs(words) : words, file("err"));
        return program->out();
    }
};

/// What the function took by the wall clock less what its thread used is what it slept, and waited
/// for a processor: how much of the latter was in it is not known.
void expect_nap(const Recording& seen, const std::string& out, const std::string& function,
                const std::string& key) {
    SCOPED_TRACE(function);
    const double wall_us = told(out, key + "_ns") / 1000;
    const double cpu_us = told(out, key + "_cpu_ns") / 1000;
    const double for_processor_us = seen.total_us("[waiting for a processor]");
    EXPECT_LE(seen.total_us(function), wall_us * 1.02);
    EXPECT_GE(seen.total_us(function), (wall_us - cpu_us - for_processor_us) * 0.98);
}

TEST_F(AttachOffCpu, each_sleep_has_its_place_and_its_length) {
    const std::string out = record_naps();
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("clock"), "wall");
    EXPECT_EQ(seen.stat("lost"), 0);
    expect_nap(seen, out, "naps_by_clock", "clock");
    expect_nap(seen, out, "naps_until_woken", "woken");
    // The process's end ends it.
    EXPECT_GT(seen.total_us("naps_to_the_end"), told(out, "clock_ns") / 1000 * 0.9);
}

TEST_F(AttachOffCpu, a_thread_that_is_put_off_does_not_sleep) {
    const std::string out = record_naps();
    const Recording seen{recording()};
    const double cpu_us = told(out, "beside_cpu_ns") / 1000;
    constexpr double kTwoTicksUs = 20'000;  // what a clock is behind that is read from outside
    EXPECT_LE(seen.total_us("works_beside"), cpu_us * 1.05 + kTwoTicksUs);
    // Two of them had one processor.
    EXPECT_GE(seen.total_us("[waiting for a processor]"), cpu_us * 0.8);
}

TEST_F(AttachOffCpu, a_sleep_names_who_has_ended_it) {
    if (const std::string reason = no_tracefs(); !reason.empty()) {
        GTEST_SKIP() << reason;
    }
    const std::string out = record_naps({"--kernel", "off"});
    const Recording seen{recording()};
    if (seen.stats()["notes"].dump().find("who woke the threads") != std::string::npos) {
        GTEST_SKIP() << "a container has other process ids than the kernel's records";
    }
    double by_waker_us = 0;
    for (const Edge& edge : edges_of(seen.exported())) {
        by_waker_us += edge.callee.starts_with("[woken by waker ") ? edge.total_us : 0;
        if (edge.callee.starts_with("[woken by ")) {
            std::cout << edge.caller << " " << edge.callee << " " << edge.total_us << " us\n";
        }
    }
    // Each sleep in naps_until_woken() is ended by that thread; the rest is what it ran there.
    const double slept_us = told(out, "woken_ns") / 1000 - told(out, "woken_cpu_ns") / 1000;
    EXPECT_LE(by_waker_us, slept_us * 1.02);
    EXPECT_GE(by_waker_us, (slept_us - seen.total_us("[waiting for a processor]")) * 0.98);
}

TEST_F(AttachOffCpu, a_thread_that_was_asleep_before_is_not_given_a_place) {
    const auto program = start({target("waits"), "60"});
    while (program->state() != 'S') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    ASSERT_EQ(attach({"--off-cpu", "--time", "500ms", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_EQ(seen.total_us("waits_in_pause"), 0);
    // Its eight threads, since they are watched.
    EXPECT_GT(seen.total_us("[waiting, stack not seen]"), 0);
    EXPECT_LE(seen.total_us("[waiting, stack not seen]"), 8 * seen.stat("wall_us"));
}

TEST_F(AttachOffCpu, has_none_unless_asked) {
    const auto program = start({target("naps"), "100000"});
    program->signal(SIGCONT);
    ASSERT_EQ(attach({"--time", "500ms", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("clock"), "cpu");
    EXPECT_EQ(seen.total_us("[waiting"), 0);
}

TEST_F(Machine, has_the_sleeps_of_all) {
    const auto program = start({target("naps"), "100000"});
    while (program->state() != 'T') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    program->signal(SIGCONT);
    ASSERT_EQ(record_all({"--off-cpu", "--time", "2s"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("clock"), "wall");
    // Of this program: others of the machine may sleep in functions of the same names.
    auto functions = reported_functions(recording(), {"--process", program->pid()}, label_of);
    for (const char* name : {"naps_by_clock()", "naps_until_woken()"}) {
        EXPECT_GT(functions[name].total, 0U) << name;
        EXPECT_LE(static_cast<double>(functions[name].total), seen.stat("wall_us")) << name;
    }
}

TEST_F(AttachAsUser, is_told_what_switches_take) {
    const KernelSetting paranoid{"perf_event_paranoid", "2"};
    ASSERT_TRUE(paranoid.is_set()) << paranoid.problem();
    Beside program{{file("confine"), "--user", "65534", file("three_leaves"), "60"}, file("out")};
    program.await_exec("three_leaves");
    const Outcome outcome = attach_as_user({"--off-cpu", "--time", "1s", program.pid()});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("--clock wall"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("own/r.utrace")));
}

}  // namespace
}  // namespace sample::e2e

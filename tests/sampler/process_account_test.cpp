// The account of a process that nobody has an area of: whoever hands its threads in numbers them.
#include "sampler/collector/process/process_account.h"

#include "sampler/capture/clocks.h"
#include "tests/sampler/recorder_fixture.h"

namespace sample::collector {
namespace {

constexpr std::uint32_t kPid = 0x3fff'fff0;  // none
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kApp = 0x10000;

class ProcessAccountTest : public RecorderFixture {
protected:
    explicit ProcessAccountTest(bool is_time = true, std::uint64_t system_before_ns = 0)
        : account{identity(is_time, system_before_ns), recorder, clock} {}
    void SetUp() override {
        recorder.begin("test", "");
        account.set_sampling({.period_ns = kMs});
        account.begin();
        account.on_thread_start({kPid, kPid}, thread_record(kPid));
        capture::ModuleRecord app;
        app.start = app.bias = kApp;
        app.end = 2 * kApp;
        account.on_module({kPid, kPid}, app, "/bin/app");
    }
    static ProcessIdentity identity(bool is_time, std::uint64_t system_before_ns) {
        ProcessIdentity identity;
        identity.system_before_ns = system_before_ns;
        identity.pid = static_cast<pid_t>(kPid);
        identity.is_time = is_time;
        return identity;
    }
    static capture::ThreadRecord thread_record(std::uint32_t tid, std::uint64_t cpu_ns = 0) {
        capture::ThreadRecord record;
        record.tid = tid;
        record.cpu_ns = cpu_ns;
        return record;
    }
    /// Taken a while ago, or `young`.
    void sample(std::uint32_t tid, std::uint64_t weight_ns, bool young = false) {
        const auto while_ticks =
            static_cast<std::uint64_t>(clock.ticks_per_ns() * static_cast<double>(1'000 * kMs));
        const std::uint64_t now = capture::read_ticks();
        const std::uint64_t frame = FrameAddress{Pc{kApp + 0x20}}.bits();
        account.on_sample({tid, tid}, {.ticks = young ? now + while_ticks : now - while_ticks,
                                       .weight_ns = weight_ns,
                                       .frames = {&frame, 1}});
    }
    void end(std::uint64_t cpu_ns) {
        account.end({}, {cpu_ns, 0});
        read_back();
    }

    TickClock clock;
    ProcessAccount account;
};

/// Of an event that happens several times a nanosecond.
class CountedEvents : public ProcessAccountTest {
protected:
    CountedEvents() : ProcessAccountTest{false} {}
};

TEST_F(CountedEvents, have_nothing_to_do_with_a_threads_clock) {
    account.on_thread_start({kPid + 1, kPid + 1}, thread_record(kPid + 1));
    sample(kPid + 1, 3 * kMs);
    account.on_thread_end({kPid + 1, kPid + 1}, thread_record(kPid + 1, kMs));
    account.end({}, {kMs, 3 * kMs});
    read_back();
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(read.samples[0].weight, 3 * kMs);
}

TEST_F(ProcessAccountTest, adds_up_to_the_processs_clock) {
    account.book_before_start(2 * kMs);
    sample(kPid, 3 * kMs);
    account.on_thread_start({kPid + 1, kPid + 1}, thread_record(kPid + 1));
    sample(kPid + 1, kMs);
    account.on_thread_end({kPid + 1, kPid + 1}, thread_record(kPid + 1, 4 * kMs));
    end(12 * kMs);
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(stack_of(read.samples[0].node), std::vector<std::string>{"/bin/app+32"});
    EXPECT_EQ(booked_ns(trace::kBeforeStart), 2 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 6 * kMs) << "3 of the thread, and 3 of the rest";
    EXPECT_EQ(recorded_ns(), 12 * kMs);
}

// As of one that is killed and waited for at once: else its parent's sum would have it as
// another's.
TEST_F(ProcessAccountTest, accounts_for_the_samplers_own_time_where_no_clock_is_left) {
    account.set_sampling({.period_ns = kMs, .observer_cpu_ns = 7 * kMs});
    sample(kPid, 3 * kMs);
    account.end({}, {});
    EXPECT_EQ(account.accounted_cpu_ns(), 10 * kMs);
}

TEST_F(ProcessAccountTest, tells_what_the_source_did_not_see) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    sample(kPid, kMs);
    end(10 * kMs);
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 8 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), kMs) << "a period may be on its way";
}

/// That was in the kernel before the agent had joined.
class LateAccount : public ProcessAccountTest {
protected:
    LateAccount() : ProcessAccountTest{true, 10 * kMs} {}
};

TEST_F(LateAccount, calls_no_more_the_kernels_than_that_counts) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    sample(kPid, kMs);
    account.end({}, {101 * kMs, 0, 40 * kMs});
    read_back();
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 30 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 70 * kMs) << "of threads without an event, say";
}

TEST_F(ProcessAccountTest, books_the_kernels_part_once) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    account.on_thread_start({kPid + 1, kPid + 1}, thread_record(kPid + 1));
    account.note_system_time(0, 50 * kMs);
    account.on_thread_end({kPid + 1, kPid + 1}, thread_record(kPid + 1, 41 * kMs));
    account.end({}, {141 * kMs, 0, 50 * kMs});
    read_back();
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 50 * kMs);
    EXPECT_EQ(recorded_ns(), 141 * kMs);
}

// As of a process that its parent has waited for.
TEST_F(ProcessAccountTest, may_have_been_in_the_kernel_since_the_last_look) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    account.note_system_time(80 * kMs, 10 * kMs);
    end(101 * kMs);
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 31 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 70 * kMs);
}

TEST_F(ProcessAccountTest, leaves_out_what_the_kernel_counted_while_sampling_was_off) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    account.stop_counting({0, 0, 0});
    account.go_on_counting({100 * kMs, 0, 90 * kMs});
    account.end({}, {201 * kMs, 0, 110 * kMs});
    read_back();
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 20 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 81 * kMs);
}

TEST_F(ProcessAccountTest, knows_a_thread_by_its_samples) {
    sample(kPid + 7, kMs);
    account.on_thread_killed({kPid + 7, kPid + 7});
    sample(kPid + 7, kMs);
    end(2 * kMs);
    ASSERT_EQ(read.threads.size(), 3U);
    EXPECT_EQ(read.threads[1].tid, kPid + 7);
    EXPECT_EQ(read.threads[2].tid, kPid + 7) << "another one of this number";
    EXPECT_EQ(recorded_ns(), 2 * kMs);
}

// The hypervisor took the processor away meanwhile: the event's clock went on, the CPU clock did
// not.
TEST_F(ProcessAccountTest, records_no_more_than_the_processs_clock_says) {
    for (std::uint64_t drain = 1; drain <= 5; ++drain) {
        for (int i = 0; i < 10; ++i) {
            sample(kPid, kMs);
        }
        account.settle(drain * 9 * kMs);
    }
    end(45 * kMs);
    ASSERT_EQ(read.samples.size(), 50U);
    EXPECT_EQ(recorded_ns(), 45 * kMs);
    for (const trace::Sample& each : read.samples) {
        EXPECT_NEAR(static_cast<double>(each.weight), 0.9 * kMs, 1) << "each bears its part";
    }
}

TEST_F(ProcessAccountTest, waits_for_a_clock_that_lags) {
    sample(kPid, 3 * kMs);
    sample(kPid, 2 * kMs, true);
    account.settle(4 * kMs);
    sample(kPid, kMs, true);
    account.settle(6 * kMs);
    EXPECT_FALSE(account.has_due());
    end(6 * kMs);
    ASSERT_EQ(read.samples.size(), 3U);
    EXPECT_EQ(read.samples[0].weight, 3 * kMs);
    EXPECT_EQ(read.samples[1].weight, 2 * kMs);
    EXPECT_EQ(read.samples[2].weight, kMs);
}

TEST_F(ProcessAccountTest, makes_up_for_samples_that_came_early) {
    sample(kPid, kMs);
    sample(kPid, kMs);
    account.settle(kMs);
    sample(kPid, kMs);
    account.settle(3 * kMs);
    end(3 * kMs);
    ASSERT_EQ(read.samples.size(), 3U);
    EXPECT_EQ(read.samples[0].weight, kMs / 2);
    EXPECT_EQ(read.samples[2].weight, 2 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 0U);
}

TEST_F(ProcessAccountTest, lets_a_thread_go_on_that_was_ahead_of_its_clock) {
    for (int i = 0; i < 4; ++i) {
        sample(kPid, kMs);
    }
    account.settle(2 * kMs);
    sample(kPid, 0);  // its clock says that it has weighed enough already
    sample(kPid, 0);
    account.settle(3 * kMs);
    end(3 * kMs);
    ASSERT_EQ(read.samples.size(), 6U);
    EXPECT_EQ(read.samples[4].weight, kMs / 2);
    EXPECT_EQ(read.samples[5].weight, kMs / 2);
    EXPECT_EQ(recorded_ns(), 3 * kMs);
}

TEST_F(ProcessAccountTest, gives_a_thread_what_its_own_clock_says) {
    account.on_thread_start({kPid + 1, kPid + 1}, thread_record(kPid + 1));
    sample(kPid, 3 * kMs);
    sample(kPid + 1, kMs);
    sample(kPid + 1, kMs);
    account.on_thread_end({kPid + 1, kPid + 1}, thread_record(kPid + 1, kMs / 2));
    sample(kPid, kMs);
    account.settle(9 * kMs / 2);
    end(9 * kMs / 2);
    ASSERT_EQ(read.samples.size(), 4U);
    EXPECT_EQ(read.samples[0].weight, 3 * kMs);
    EXPECT_EQ(read.samples[1].weight, kMs) << "of the same thread";
    EXPECT_EQ(read.samples[2].weight, kMs / 2);
    EXPECT_EQ(read.samples[3].weight, 0U);
}

TEST_F(ProcessAccountTest, gives_no_thread_what_another_one_never_used) {
    account.on_thread_start({kPid + 1, kPid + 1}, thread_record(kPid + 1));
    sample(kPid + 1, 4 * kMs);
    account.settle(2 * kMs);
    account.on_thread_end({kPid + 1, kPid + 1}, thread_record(kPid + 1, 2 * kMs));
    sample(kPid, kMs);
    account.settle(5 * kMs);
    end(5 * kMs);
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(read.samples[1].weight, kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 2 * kMs);
    EXPECT_EQ(recorded_ns(), 5 * kMs);
}

/// In a recording that begins later than its process does.
class LateRecording : public ProcessAccountTest {
protected:
    void SetUp() override {
        recorder.hold_back();
        ProcessAccountTest::SetUp();
    }
    /// At so many nanoseconds of the test's own time.
    void sample_at(std::uint64_t ns, std::uint64_t weight_ns, std::uint64_t unseen_ns = 0) {
        const std::uint64_t frame = FrameAddress{Pc{kApp + 0x20}}.bits();
        account.on_sample({kPid, kPid}, {.ticks = ticks_at(ns),
                                         .weight_ns = weight_ns,
                                         .unseen_ns = unseen_ns,
                                         .frames = {&frame, 1}});
    }
    void begin_sampling_at(std::uint64_t ns, std::uint64_t cpu_ns) {
        recorder.begin_sampling(clock.to_ns(ticks_at(ns)));
        account.begin_sampling({cpu_ns, 0});
    }

private:
    [[nodiscard]] std::uint64_t ticks_at(std::uint64_t ns) const {
        return first_ + static_cast<std::uint64_t>(static_cast<double>(ns) * clock.ticks_per_ns());
    }
    std::uint64_t first_ = __builtin_ia32_rdtsc();
};

constexpr double kRounding = 10;

TEST_F(LateRecording, has_what_the_processs_clock_counted_since) {
    account.book_before_start(2 * kMs);
    sample_at(10 * kMs, 9 * kMs);
    begin_sampling_at(20 * kMs, 18 * kMs);
    sample_at(15 * kMs, 5 * kMs);
    sample_at(24 * kMs, 3 * kMs);
    end(25 * kMs);
    ASSERT_EQ(read.samples.size(), 1U) << "one came before, one was read too late for that";
    EXPECT_EQ(read.samples[0].weight, 3 * kMs);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 4 * kMs);
    EXPECT_EQ(recorded_ns(), 7 * kMs);
    EXPECT_EQ(recorder.earlier(), 18 * kMs);
}

TEST_F(LateRecording, a_thread_has_no_more_than_has_passed) {
    account.set_sampling({.period_ns = kMs, .kernel_excluded = true});
    begin_sampling_at(20 * kMs, 0);
    sample_at(22 * kMs, kMs, 9 * kMs);
    end(3 * kMs);
    EXPECT_NEAR(static_cast<double>(booked_ns(trace::kKernelUnseen)), 2 * kMs, kRounding);
}

TEST_F(LateRecording, has_nothing_of_a_process_that_ended_before) {
    sample_at(10 * kMs, 9 * kMs);
    end(12 * kMs);
    EXPECT_EQ(recorded_ns(), 0U);
    EXPECT_EQ(recorder.earlier(), 12 * kMs);
}

}  // namespace
}  // namespace sample::collector

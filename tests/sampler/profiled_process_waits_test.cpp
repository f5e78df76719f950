// What a process's threads waited for: the wall clock's part of ProfiledProcess.
#include "sampler/capture/clocks.h"
#include "tests/sampler/process_fixture.h"
#include "unwind/walk/walk.h"

#include <algorithm>

namespace sample::collector {
namespace {

using capture::WaitKind;
using Stack = std::vector<std::string>;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kTid = 999'999;
/// Ticks are rounded to nanoseconds and back.
constexpr double kRounding = 100;

class ProcessWaits : public ProfiledProcessTest {
protected:
    /// The process joins, with an observer that has a slot.
    void start_observed() {
        test.area().header.observes_waits.store(1);
        start(0);
        observer = test.start_thread(kTid + 1, kObserver, 0, at(0));
        test.area().header.observer_slot_plus_one.store(observer + 1);
        test.area().header.observer_tid.store(kTid + 1);
    }
    /// Ticks, `ms` after the beginning.
    [[nodiscard]] std::uint64_t at(std::uint64_t ms) const {
        return origin_ +
               static_cast<std::uint64_t>(static_cast<double>(ms * kMs) * clock.ticks_per_ns());
    }
    /// A thread of the program begins, and its word has arrived.
    [[nodiscard]] std::uint32_t start_worker(std::uint64_t ms, std::uint32_t tid = kTid) const {
        const std::uint32_t worker = test.start_thread(tid, "worker", 0, at(ms));
        process->drain();
        return worker;
    }
    /// `tid` is seen to wait in functions at kApp + 0x10, + 0x20, the leaf.
    void see_stack(std::uint64_t ms, std::uint64_t cpu_ms, std::uint32_t tid = kTid) const {
        test.add_wait(observer, {tid,
                                 WaitKind::stack,
                                 at(ms),
                                 cpu_ms * kMs,
                                 0,
                                 {exact(kApp + 0x20), calls_at(kApp + 0x10)}});
    }
    void see(WaitKind kind, std::uint64_t ms, std::uint64_t cpu_ms,
             std::uint64_t processor_wait_ms = 0) const {
        test.add_wait(observer, {kTid, kind, at(ms), cpu_ms * kMs, processor_wait_ms * kMs, {}, 0});
    }
    /// Milliseconds of a thread of the recording below a stack; of all threads if `thread` is 0.
    [[nodiscard]] double ms_in(const Stack& stack, std::uint32_t thread = 0) const {
        std::uint64_t sum = 0;
        for (const trace::Sample& sample : read.samples) {
            sum +=
                is_of(thread, sample.thread) && stack_of(sample.node) == stack ? sample.weight : 0;
        }
        for (const trace::Sample& booking : read.bookings) {
            sum += is_of(thread, booking.thread) && stack_of(booking.node) == stack ? booking.weight
                                                                                    : 0;
        }
        return static_cast<double>(sum) / kMs;
    }
    /// The recording's threads under that id.
    [[nodiscard]] std::vector<std::uint32_t> threads_of(std::uint32_t tid) const {
        std::vector<std::uint32_t> ids;
        for (const trace::Thread& thread : read.threads) {
            if (thread.tid == tid) {
                ids.push_back(thread.id.value);
            }
        }
        return ids;
    }

    const Stack here{"/bin/app+16", "/bin/app+32"};
    const Stack for_processor{trace::kWaitsForProcessor};
    const Stack not_seen{trace::kWaitNotSeen};
    std::uint32_t observer = 0;

private:
    static bool is_of(std::uint32_t wanted, ThreadId thread) {
        return wanted == 0 || wanted == thread.value;
    }
    // A minute ago: what a test says lies before the recording's end.
    std::uint64_t origin_ =
        capture::read_ticks() - static_cast<std::uint64_t>(60e9 * clock.ticks_per_ns());
};

constexpr double kNear = kRounding / static_cast<double>(kMs);

TEST_F(ProcessWaits, books_a_wait_on_the_stack_in_which_it_was_seen) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    see_stack(10, 2);
    see(WaitKind::goes_on, 100, 2);
    see(WaitKind::ended, 150, 2);
    test.end_thread(worker, 2 * kMs, "worker", at(150));
    end(std::nullopt);
    EXPECT_NEAR(ms_in(here), 148, kNear);
    EXPECT_NEAR(ms_in(not_seen), 0, kNear);
    EXPECT_EQ(threads_of(kTid).size(), 1U);
}

TEST_F(ProcessWaits, adds_up_to_the_threads_life) {
    start_observed();
    const std::uint32_t worker = start_worker(1'000);
    see_stack(1'010, 5);
    see(WaitKind::ended, 1'110, 5, 3);
    see(WaitKind::clocks, 1'200, 80, 10);
    see_stack(1'300, 100);
    see(WaitKind::goes_on, 1'400, 100, 12);
    test.add_sample(worker, {{exact(kApp + 0x100)}, 0, 90 * kMs, 0, 0, at(1'150)});
    test.end_thread(worker, 100 * kMs, "worker", at(1'500));
    end(std::nullopt);
    const std::uint32_t id = threads_of(kTid).at(0);
    EXPECT_NEAR(ms_in(for_processor, id), 12, kNear);
    EXPECT_NEAR(ms_in({"/bin/app+256"}, id), 90, kNear);
    EXPECT_NEAR(ms_in({trace::kNotSampled}, id), 10, kNear);
    EXPECT_NEAR(ms_in(here, id), 500 - 100 - 12, kNear);
}

TEST_F(ProcessWaits, books_what_nobody_saw_as_such) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    see(WaitKind::clocks, 100, 40);
    test.end_thread(worker, 40 * kMs, "worker", at(150));
    end(std::nullopt);
    EXPECT_NEAR(ms_in(not_seen), 110, kNear);
    EXPECT_EQ(read.samples.size(), 0U);
}

TEST_F(ProcessWaits, books_a_wait_up_to_the_threads_end) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    see_stack(0, 0);
    test.end_thread(worker, kPeriodNs / 2, "worker", at(150));
    end(std::nullopt);
    EXPECT_NEAR(ms_in(here), 150 - static_cast<double>(kPeriodNs) / 2 / kMs, kNear);
}

TEST_F(ProcessWaits, does_not_say_that_it_waited_there_if_it_ran_since) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    see_stack(100, 0);
    test.end_thread(worker, 30 * kMs, "worker", at(200));
    end(std::nullopt);
    EXPECT_NEAR(ms_in(here), 100, kNear);
    // Its clock says that it ran, not when: what is left may have been anywhere.
    EXPECT_NEAR(ms_in(here) + ms_in(not_seen), 170, kNear);
}

TEST_F(ProcessWaits, keeps_a_threads_id_when_it_gets_a_slot) {
    start_observed();
    see_stack(100, 7);
    see(WaitKind::ended, 200, 7);
    process->drain();
    const std::uint32_t worker = start_worker(200);
    see_stack(200, 7);
    see(WaitKind::goes_on, 250, 7);
    test.add_sample(worker, {{exact(kApp + 0x100)}});
    end(std::nullopt);
    const std::vector<std::uint32_t> ids = threads_of(kTid);
    ASSERT_EQ(ids.size(), 1U);
    EXPECT_NEAR(ms_in({"/bin/app+256"}, ids[0]), static_cast<double>(kPeriodNs) / kMs, kNear);
    EXPECT_GE(ms_in(here, ids[0]), 150 - kNear) << "what came before the slot, and what after";
}

TEST_F(ProcessWaits, begins_with_the_threads_own_word) {
    start_observed();
    see_stack(50, 0);
    const std::uint32_t worker = test.start_thread(kTid, "worker", 0, at(10));
    process->drain();
    see(WaitKind::ended, 60, 0);
    test.end_thread(worker, 0, "worker", at(60));
    end(std::nullopt);
    EXPECT_NEAR(ms_in(here), 50, kNear);
}

TEST_F(ProcessWaits, knows_a_thread_without_a_slot) {
    start_observed();
    see_stack(100, 7);
    see(WaitKind::goes_on, 400, 7);
    see(WaitKind::ended, 500, 7);
    end(std::nullopt);
    const std::vector<std::uint32_t> ids = threads_of(kTid);
    ASSERT_EQ(ids.size(), 1U);
    EXPECT_NEAR(ms_in(here, ids[0]), 400, kNear) << "and nothing until the process's end";
}

TEST_F(ProcessWaits, tells_two_threads_under_one_id_apart) {
    start_observed();
    see_stack(100, 70);
    see(WaitKind::ended, 200, 70);
    see_stack(300, 3);
    see(WaitKind::ended, 350, 3);
    end(std::nullopt);
    const std::vector<std::uint32_t> ids = threads_of(kTid);
    ASSERT_EQ(ids.size(), 2U);
    EXPECT_NEAR(ms_in(here, ids[0]), 100, kNear);
    EXPECT_NEAR(ms_in(here, ids[1]), 50, kNear);
}

TEST_F(ProcessWaits, hears_no_more_of_a_thread_that_has_ended) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    test.end_thread(worker, 0, "worker", at(100));
    process->drain();
    see_stack(90, 0);
    see(WaitKind::goes_on, 100, 0);
    see(WaitKind::goes_on, 600, 0);  // on its way out
    end(std::nullopt);
    EXPECT_EQ(threads_of(kTid).size(), 1U);
    EXPECT_NEAR(ms_in(here), 0, kNear);
}

TEST_F(ProcessWaits, meets_another_thread_under_an_ended_ones_id) {
    start_observed();
    const std::uint32_t worker = start_worker(0);
    test.end_thread(worker, 0, "worker", at(100));
    process->drain();
    see_stack(5'000, 1);
    see(WaitKind::ended, 5'070, 1);
    end(std::nullopt);
    const std::vector<std::uint32_t> ids = threads_of(kTid);
    ASSERT_EQ(ids.size(), 2U);
    EXPECT_NEAR(ms_in(here, ids[1]), 70, kNear);
}

TEST_F(ProcessWaits, lets_a_wait_go_on_until_the_process_ends) {
    start_observed();
    (void)start_worker(0);
    see_stack(100, 0);
    end(std::nullopt);
    EXPECT_GE(ms_in(here), 60'000 - kNear) << "a minute";
}

TEST_F(ProcessWaits, ends_a_running_threads_time_with_its_last_reading) {
    start_observed();
    (void)start_worker(0);
    see_stack(0, 0);
    see(WaitKind::ended, 50, 0);
    see(WaitKind::clocks, 100, 10);
    end(std::nullopt);
    EXPECT_NEAR(ms_in(here), 50, kNear);
    EXPECT_NEAR(ms_in(not_seen), 40, kNear);
}

TEST_F(ProcessWaits, measures_the_programs_threads_alone) {
    start_observed();
    test.add_wait(observer, {kTid + 1, WaitKind::stack, at(100), 0, 0, {exact(kApp)}, 0});
    test.add_sample(main, {{exact(kApp + 0x100)}, 0, 4 * kMs});
    test.area().header.observer_cpu_ns.store(3 * kMs);
    end(8 * kMs);
    EXPECT_NEAR(ms_in({trace::kNotSampled}), 1, kNear) << "of the main thread's, not of ours";
    EXPECT_TRUE(threads_of(kTid + 1).empty());
}

TEST_F(ProcessWaits, leaves_the_observers_time_out_by_the_cpu_clock) {
    start(0);
    test.add_sample(main, {{exact(kApp + 0x100)}, 0, 4 * kMs});
    test.area().header.observer_cpu_ns.store(3 * kMs);
    test.area().header.observer_tid.store(kTid + 1);
    end(8 * kMs);
    EXPECT_EQ(read.threads.size(), 1U);
    EXPECT_EQ(recorded_ns(), 5 * kMs);
    ASSERT_EQ(read.process_ends.size(), 1U);
    EXPECT_EQ(read.process_ends[0].cpu_ns, 5 * kMs);
    EXPECT_EQ(read.process_ends[0].agent_cpu_ns, 3 * kMs);
}

TEST_F(ProcessWaits, makes_no_thread_where_nobody_observes) {
    start(0);
    end(8 * kMs);
    EXPECT_EQ(read.threads.size(), 1U);
}

TEST_F(ProcessWaits, finds_the_right_one_of_many_threads) {
    start_observed();
    for (std::uint32_t i = 0; i < 100; ++i) {
        (void)start_worker(0, 2'000'000 + i);
    }
    for (std::uint32_t i = 0; i < 100; ++i) {
        see_stack(i + 1, 0, 2'000'000 + i);
        test.add_wait(observer, {2'000'000 + i, WaitKind::ended, at(i + 1), 0, 0, {}, 0});
    }
    end(std::nullopt);
    for (std::uint32_t i = 0; i < 100; ++i) {
        const std::vector<std::uint32_t> ids = threads_of(2'000'000 + i);
        ASSERT_EQ(ids.size(), 1U);
        EXPECT_NEAR(ms_in(here, ids[0]), i + 1, kNear);
    }
}

TEST_F(ProcessWaits, survives_times_from_nowhere) {
    start_observed();
    for (const std::uint64_t wild : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0}}) {
        for (const int kind : {0, 1, 2, 3, 4, 0xffff}) {
            test.add_wait(observer, {static_cast<std::uint32_t>(wild),
                                     static_cast<WaitKind>(kind),
                                     wild,
                                     wild,
                                     wild,
                                     {exact(wild)},
                                     0xffffffff});
        }
    }
    end(8 * kMs);
    EXPECT_EQ(read.process_ends.size(), 1U);
}

}  // namespace
}  // namespace sample::collector

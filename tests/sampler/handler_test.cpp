// The handler at work, in the test program itself and without the agent: by real signals where the
// kernel has them, and by calls with a context that getcontext(3) made.
#include "sampler/capture/thread_slots.h"
#include "tests/sampler/handler_fixture.h"
#include "unwind/walk/walk.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

namespace sample::capture {
namespace {

using collector::AreaReader;
using collector::KeepingSink;

volatile std::uint64_t sink_value = 0;

// Called twice a round with known shares of the work.
[[gnu::noinline]] void work(std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        sink_value = sink_value * 31 + i;
    }
}
[[gnu::noinline]] void three_parts() {
    work(60'000);
    sink_value = sink_value + 1;
}
[[gnu::noinline]] void one_part() {
    work(20'000);
    sink_value = sink_value + 1;
}
[[gnu::noinline]] void burn(std::uint64_t ns) {
    constexpr int kBetweenReads = 8;  // what a read takes is nothing beside them
    const std::uint64_t end = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < end) {
        for (int i = 0; i < kBetweenReads; ++i) {
            three_parts();
            one_part();
        }
    }
}

class Handler : public HandlerFixture {
protected:
    KeepingSink& drain() {
        reader.drain(sink);
        return sink;
    }
    [[nodiscard]] bool holds(const KeepingSink::Kept& sample, void (*function)()) const {
        return std::any_of(sample.frames.begin(), sample.frames.end(), [&](std::uint64_t frame) {
            return modules.function_of(frame) == reinterpret_cast<std::uint64_t>(function);
        });
    }

    AreaReader reader{test.area()};
    KeepingSink sink;
};

TEST_F(Handler, takes_all_of_a_busy_threads_time) {
    const SignalAction action{SIGTRAP, on_signal};
    const std::uint64_t period_ns = affordable_period_ns();
    header().period_ns = period_ns;
    header().gap_ticks = gap_ticks_of(period_ns);
    const TrapEvent event{period_ns};
    SAMPLE_NEEDS_EVENT(event);
    const std::uint64_t before = thread_cpu_ns();
    add_early_thread({static_cast<std::uint32_t>(::gettid()), before});
    event.on();
    burn(300'000'000);
    event.off();
    const std::uint64_t spent = thread_cpu_ns() - before;
    drain();

    ASSERT_FALSE(sink.samples.empty());
    // The event's timer also runs through interrupts, which the thread's clock does not count.
    EXPECT_LT(sink.samples.size() * 100, spent / period_ns * 102);
    std::uint64_t weights = 0;
    std::size_t three = 0;
    std::size_t one = 0;
    std::size_t in_work = 0;
    for (const KeepingSink::Kept& sample : sink.samples) {
        weights += sample.weight_ns;
        EXPECT_EQ(sample.stop, static_cast<std::uint32_t>(unwind::StopReason::root));
        three += holds(sample, three_parts) ? 1 : 0;
        one += holds(sample, one_part) ? 1 : 0;
        in_work += FrameAddress::from_bits(sample.frames.back()).is_exact() ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(weights), static_cast<double>(spent),
                0.02 * static_cast<double>(spent));
    EXPECT_EQ(in_work, sink.samples.size()) << "each has its leaf";
    EXPECT_NEAR(static_cast<double>(three) / static_cast<double>(three + one), 0.75, 0.05);
    EXPECT_GT((three + one) * 10, sink.samples.size() * 9);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.cpu_ns, before);
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
    const collector::HandlerTotals totals = reader.totals();
    EXPECT_EQ(totals.samples, sink.samples.size());
    EXPECT_EQ(totals.lost, 0U);
    EXPECT_GT(totals.ticks, 0U);
    std::uint64_t in_classes = 0;
    for (const std::uint64_t count : totals.histogram) {
        in_classes += count;
    }
    EXPECT_EQ(in_classes, totals.samples);
}

TEST_F(Handler, leaves_errno_alone) {
    const SignalAction action{SIGTRAP, on_signal};
    const TrapEvent event{affordable_period_ns()};
    SAMPLE_NEEDS_EVENT(event);
    event.on();
    // Volatile: the compiler sees nobody here who could change it.
    volatile int& number = errno;
    number = ENOTRECOVERABLE;
    bool kept = true;
    for (int i = 0; i < 300; ++i) {
        work(100'000);
        kept = kept && number == ENOTRECOVERABLE;
    }
    event.off();
    EXPECT_TRUE(kept);
    EXPECT_GT(drain().samples.size(), 10U);
}

TEST_F(Handler, counts_a_signal_that_meets_it_at_work) {
    const SignalAction action{SIGTRAP, on_signal};
    const TrapEvent event{affordable_period_ns()};
    SAMPLE_NEEDS_EVENT(event);
    event.on();
    const std::uint64_t end = thread_cpu_ns() + 2'000'000'000;
    std::uint64_t by_hand = 0;
    while (header().lost_reentry.load() == 0 && thread_cpu_ns() < end) {
        for (int i = 0; i < 100; ++i) {
            take_one();
            ++by_hand;
        }
        drain();
    }
    event.off();
    drain();
    EXPECT_GT(header().lost_reentry.load(), 0U);
    EXPECT_EQ(reader.totals().lost, header().lost_reentry.load());
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
    EXPECT_GT(sink.samples.size(), by_hand / 2);
}

TEST_F(Handler, takes_the_stack_of_a_context) {
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 1U);
    const KeepingSink::Kept& sample = sink.samples[0];
    EXPECT_EQ(sample.stop, static_cast<std::uint32_t>(unwind::StopReason::root));
    EXPECT_GT(sample.frames.size(), 5U) << "gtest's frames, main, _start";
    EXPECT_TRUE(FrameAddress::from_bits(sample.frames.back()).is_exact());
    EXPECT_GT(sample.weight_ns, 0U) << "the thread's time so far";
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.tid, static_cast<std::uint32_t>(::gettid()));
}

TEST_F(Handler, sends_only_the_frames_that_changed) {
    for (int i = 0; i < 3; ++i) {
        take_one();
    }
    drain();
    ASSERT_EQ(sink.samples.size(), 3U);
    EXPECT_EQ(sink.samples[0].kept, 0U);
    // One call site in one loop: all but the leaf's own frames are the same.
    EXPECT_GE(sink.samples[1].kept + 2, sink.samples[1].frames.size());
    EXPECT_EQ(sink.samples[2].frames, sink.samples[1].frames);
}

TEST_F(Handler, carries_the_time_of_a_lost_sample_on) {
    take_one();
    const ThreadSlot& slot = test.slot(0);
    ThreadState& thread = *thread_states().claimed(0);
    // The chunk is full, and there is no other.
    Bitmap& chunks = header().free_chunks;
    std::array<std::uint64_t, std::tuple_size_v<Bitmap>> free{};
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        free[i] = chunks[i].exchange(0);
    }
    thread.cursor.used = Chunk::kDataBytes - 8;
    const std::uint64_t before = thread.accounted_ns;
    burn(3'000'000);
    take_one();
    EXPECT_EQ(slot.lost.load(), 1U);
    EXPECT_EQ(thread.accounted_ns, before);
    EXPECT_EQ(slot.samples.load(), 1U);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        chunks[i].store(free[i]);
    }
    take_one();
    EXPECT_EQ(slot.samples.load(), 2U);
    EXPECT_GE(thread.accounted_ns, before + 3'000'000);
}

TEST_F(Handler, lets_the_program_go_on_where_samples_take_longer_than_a_period) {
    header().period_ticks = 1;
    take_one();
    const ThreadSlot& slot = test.slot(0);
    for (int more = 0; more < 1000 && slot.lost.load() == 0; ++more) {
        take_one();
    }
    EXPECT_EQ(slot.lost.load(), 1U);
    const std::uint64_t before = slot.samples.load();
    EXPECT_GE(before, 16U);
    burn(3'000'000);
    take_one();
    EXPECT_EQ(slot.samples.load(), before + 1);
}

TEST_F(Handler, what_comes_next_stands_for_samples_that_were_lost) {
    const ThreadSlot& slot = test.slot(0);
    header().period_ticks = 1;
    header().gap_ticks = 0;  // the clock is read each time
    for (int more = 0; more < 1000 && slot.lost.load() == 0; ++more) {
        take_one();
    }
    ASSERT_EQ(slot.lost.load(), 1U);
    header().kernel_excluded = 1;
    const ThreadState& thread = *thread_states().claimed(0);
    const std::uint64_t before = slot.samples.load();
    std::uint64_t period_ns = 0;
    while (slot.samples.load() == before) {
        burn(3'000'000);
        period_ns = (thread_cpu_ns() - thread.accounted_ns) * 3 / 4;
        header().period_ns = period_ns;
        take_one();
    }
    ASSERT_FALSE(drain().samples.empty());
    EXPECT_GT(sink.samples.back().weight_ns, period_ns);
    EXPECT_EQ(sink.samples.back().unseen_ns, 0U) << "the lost one was no time in the kernel";
}

TEST_F(Handler, what_comes_next_stands_for_expiries_that_were_skipped) {
    take_one();
    header().period_ns = kPeriodNs;
    header().gap_ticks = kNoSampleIsLong >> 16U;  // no clock is read
    header().skipped_share = 1U << 30U;
    constexpr std::size_t kExpiries = 4000;
    for (std::size_t expiry = 0; expiry < kExpiries; ++expiry) {
        take_one();
    }
    header().skipped_share = 0;
    take_one();
    drain();
    const std::size_t taken = sink.samples.size() - 1;
    EXPECT_NEAR(static_cast<double>(taken) / kExpiries, 0.75, 0.05);
    std::uint64_t weights = 0;
    for (std::size_t at = 1; at <= taken; ++at) {
        weights += sink.samples[at].weight_ns;
    }
    EXPECT_EQ(weights, (kExpiries + 1) * kPeriodNs);
    EXPECT_EQ(reader.totals().lost, 0U);
}

TEST_F(Handler, weighs_the_whole_of_a_gap) {
    take_one();
    burn(3'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_GE(sink.samples[1].weight_ns, 3'000'000U);
    EXPECT_EQ(sink.samples[0].weight_ns + sink.samples[1].weight_ns,
              thread_states().claimed(0)->accounted_ns);
}

TEST_F(Handler, adds_up_what_a_thread_uses_while_it_has_no_slot) {
    for (auto& word : header().free_slots) {
        word.store(0);
    }
    take_one();
    const std::uint64_t first = header().slotless_weight.load();
    burn(3'000'000);
    take_one();
    EXPECT_EQ(header().slotless_threads.load(), 1U);
    const std::uint64_t both = header().slotless_weight.load();
    EXPECT_GE(both - first, 3'000'000U);
    return_bit(header().free_slots, 0);
    burn(1'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(header().slotless_weight.load(), both);
    EXPECT_EQ(sink.starts[0].second.cpu_ns, both) << "is accounted for";
    EXPECT_EQ(both + sink.samples[0].weight_ns, thread_states().claimed(0)->accounted_ns);
    EXPECT_EQ(reader.totals().lost, 0U);
}

TEST_F(Handler, adds_up_events_of_a_thread_without_a_slot) {
    header().gap_ticks = kCountsEvents;
    for (auto& word : header().free_slots) {
        word.store(0);
    }
    take_one();
    take_one();
    end_thread();
    EXPECT_EQ(header().slotless_weight.load(), 2 * kPeriodNs);
}

TEST_F(Handler, puts_what_the_source_did_not_see_apart) {
    take_one();
    header().kernel_excluded.store(1);
    burn(3'000'000);
    take_one();
    drain();
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_EQ(sink.samples[1].weight_ns, kPeriodNs);
    EXPECT_GE(sink.samples[1].unseen_ns, 3'000'000U - kPeriodNs);
}

// Its time is booked from the clock, so nothing is lost.
TEST_F(Handler, takes_nothing_after_the_threads_end) {
    take_one();
    end_thread();
    take_one();
    EXPECT_EQ(header().lost_reentry.load(), 0U);
    drain();
    EXPECT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(sink.ends.size(), 1U);
}

TEST_F(Handler, takes_nothing_once_it_is_stopped) {
    header().stopped.store(1);
    take_one();
    end_thread();
    drain();
    EXPECT_EQ(sink.records(), 0U);
    EXPECT_EQ(collector::count_free(header().free_slots), kMaxThreads);
}

TEST_F(Handler, passes_on_signals_that_are_not_its_own) {
    take_one(sample_info(kSampleCookie + 1));
    siginfo_t trap{};
    trap.si_signo = SIGTRAP;
    trap.si_code = SI_USER;
    take_one(trap);
    EXPECT_EQ(foreign_signals, 2);
    EXPECT_EQ(drain().records(), 0U);
}

TEST_F(Handler, knows_its_descriptors_signal) {
    siginfo_t info{};
    info.si_signo = SIGURG;
    info.si_code = POLL_IN;
    info.si_fd = 77;
    take_one(info);
    EXPECT_EQ(foreign_signals, 1) << "not told yet";
    add_perf_descriptor(77);
    take_one(info);
    EXPECT_EQ(foreign_signals, 1);
    EXPECT_EQ(drain().samples.size(), 1U);
    info.si_code = SI_USER;
    take_one(info);
    EXPECT_EQ(foreign_signals, 2);
}

}  // namespace
}  // namespace sample::capture

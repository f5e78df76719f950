#include "sampler/source/thread_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace sample::source {
namespace {

constexpr std::uint32_t kNever = 0xffffffff;  ///< The chance that no thread that sleeps has.

TEST(InterruptChoice, notices_that_a_thread_ran) {
    InterruptChoice choice;
    EXPECT_EQ(choice.check(5), 5U);
    EXPECT_EQ(choice.check(5), 0U);
    EXPECT_EQ(choice.check(6), 1U);
    EXPECT_EQ(choice.cpu_ns(), 6U);
}

constexpr std::uint64_t kMs = 1'000'000;

/// A thread that ran for `cpu_ns` of every ten milliseconds, in so many runs, and waited for a
/// processor for `waits_ns`.
InterruptChoice after_windows(std::uint64_t cpu_ns, std::uint64_t waits_ns,
                              std::uint64_t runs = 0) {
    InterruptChoice choice;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        (void)choice.check(i * cpu_ns);
        if (choice.wants_window(i * 10 * kMs)) {
            choice.end_window(i * 10 * kMs, {i * waits_ns, i * runs});
        }
    }
    choice.interrupted();
    return choice;
}

TEST(InterruptChoice, waits_for_a_period_of_a_thread_that_keeps_running) {
    InterruptChoice choice = after_windows(10 * kMs, 0);
    EXPECT_TRUE(choice.keeps_running());
    const std::uint64_t start = choice.cpu_ns();
    (void)choice.check(start + kMs / 2 - 1);
    EXPECT_FALSE(choice.wants_signal(kMs));
    (void)choice.check(start + kMs / 2);
    EXPECT_TRUE(choice.wants_signal(kMs)) << "a look that comes early counts";
    choice.interrupted();
    EXPECT_FALSE(choice.wants_signal(kMs));
    (void)choice.check(start + kMs);
    EXPECT_TRUE(choice.wants_signal(kMs));
}

TEST(InterruptChoice, gives_each_look_at_a_thread_that_is_visited_the_same_chance) {
    constexpr std::uint64_t kShort = InterruptChoice::kPatienceNs / 4;
    constexpr std::uint32_t kQuarter = 0x40000000;
    EXPECT_TRUE(InterruptChoice::wants_visit(kShort, kQuarter - 1));
    EXPECT_FALSE(InterruptChoice::wants_visit(kShort, kQuarter));
    EXPECT_TRUE(InterruptChoice::wants_visit(InterruptChoice::kPatienceNs, kNever));
}

TEST(InterruptChoice, knows_who_is_often_found_at_system_calls) {
    InterruptChoice choice = after_windows(10 * kMs, 0);
    AskedSamples samples;
    const auto go_on = [&](std::uint32_t all, std::uint32_t at_calls) {
        samples.all += all;
        samples.at_calls += at_calls;
        (void)choice.check(choice.cpu_ns() + 50 * kMs);
        choice.end_window(choice.cpu_ns(), {}, samples);
        return choice.calls_often();
    };
    EXPECT_FALSE(go_on(100, 50)) << "too few to tell";
    EXPECT_TRUE(go_on(100, 0)) << "a quarter";
    EXPECT_TRUE(go_on(200, 4)) << "less, as visits are right about it";
    EXPECT_FALSE(go_on(200, 3));
    EXPECT_FALSE(go_on(200, 19));
    EXPECT_TRUE(go_on(200, 20));
    samples = {100, 0};
    EXPECT_TRUE(go_on(0, 0)) << "in another slot samples are counted anew";
    EXPECT_FALSE(go_on(200, 3));
}

TEST(InterruptChoice, takes_a_thread_for_missed_that_ran_for_long_without_a_sample) {
    InterruptChoice choice = after_windows(9 * kMs, 0);
    choice.interrupted();
    EXPECT_FALSE(choice.was_missed(false));
    (void)choice.check(choice.cpu_ns() + 10 * kMs);
    EXPECT_TRUE(choice.was_missed(false));
    EXPECT_FALSE(choice.was_left());
    (void)choice.check(choice.cpu_ns() + 10 * kMs);
    EXPECT_TRUE(choice.was_left());
    EXPECT_FALSE(choice.was_missed(true)) << "longer where it is known who runs";
    (void)choice.check(choice.cpu_ns() + 200 * kMs);
    EXPECT_TRUE(choice.was_missed(true));
    choice.interrupted();
    EXPECT_FALSE(choice.was_missed(true));
}

TEST(InterruptChoice, leaves_out_looks_wherever_in_their_periods_they_come) {
    constexpr std::uint64_t kLook = kMs * 6 / 10;
    constexpr int kLooks = 4000;
    constexpr int kDueInQuarter = kLooks / 8;
    constexpr int kOff = kLooks / 100;
    InterruptChoice choice = after_windows(10 * kMs, 0);
    const std::uint64_t start = choice.cpu_ns();
    std::array<int, 4> due{};  // by quarters of the period
    std::uint32_t place = 0;
    for (std::uint64_t look = 1; look <= kLooks; ++look) {
        place += 0x9e3779b9U;
        const std::uint64_t into_ns = kLook * place >> 32U;
        (void)choice.check(start + look * kLook + into_ns, into_ns);
        if (choice.wants_signal(3 * kLook)) {  // of which that leaves out every other one
            choice.interrupted();
            ++due[place >> 30U];
        }
    }
    for (const int looks : due) {
        EXPECT_NEAR(looks, kDueInQuarter, kOff);
    }
}

TEST(InterruptChoice, takes_neither_running_nor_waiting_for_a_processor_for_sleep) {
    EXPECT_TRUE(after_windows(10 * kMs, 0).keeps_running());
    EXPECT_TRUE(after_windows(3 * kMs, 7 * kMs).keeps_running());
    EXPECT_FALSE(after_windows(9 * kMs, 0).keeps_running());
}

TEST(InterruptChoice, takes_a_thread_for_a_sleeper_until_it_is_known) {
    InterruptChoice choice;
    (void)choice.check(kMs);
    EXPECT_TRUE(choice.wants_window(kMs));
    choice.end_window(kMs, {});
    EXPECT_FALSE(choice.keeps_running());
    EXPECT_FALSE(choice.wants_window(kMs + 1));
}

TEST(InterruptChoice, begins_anew_with_another_thread_under_the_same_id) {
    InterruptChoice choice = after_windows(10 * kMs, 0);
    EXPECT_EQ(choice.check(1), 1U);
    EXPECT_FALSE(choice.keeps_running());
}

// What it did meanwhile is at most a tenth of what it does before it sleeps again.
TEST(InterruptChoice, calls_a_sample_late_by_the_period_and_by_how_long_the_thread_runs) {
    EXPECT_EQ(InterruptChoice{}.late_ns(kMs), kMs / 10);
    EXPECT_EQ(after_windows(5 * kMs, 0, 1).late_ns(kMs), kMs / 10);
    EXPECT_EQ(after_windows(5 * kMs, 0, 100).late_ns(kMs), 5 * kMs / 100 / 10);
}

TEST(LookStride, weighs_threads_by_what_they_ran) {
    constexpr std::uint64_t kWindow = LookStride::kWindowNs;
    const auto weight = [](std::uint64_t cpu_ns) {
        LookStride stride;
        stride.looked(kWindow, 0);
        stride.looked(2 * kWindow, cpu_ns);
        return static_cast<double>(stride.weight());
    };
    EXPECT_NEAR(weight(kWindow) / weight(kWindow / 4), 4, 0.1);
    EXPECT_GT(weight(0), 0) << "it may run from now on";
    EXPECT_EQ(weight(2 * kWindow), weight(kWindow)) << "the clocks' difference";
}

TEST(LookStride, is_a_tick_for_who_runs_and_long_for_who_does_next_to_never) {
    constexpr std::uint64_t kWindow = LookStride::kWindowNs;
    for (const std::uint64_t part : {LookStride::kLeastPart / 2, LookStride::kLeastPart * 2}) {
        LookStride stride;
        stride.looked(kWindow, kMs);
        EXPECT_EQ(stride.average_ticks(), 1U) << "as long as nothing is known";
        stride.looked(2 * kWindow, kMs + kWindow / part);
        const bool is_long = part > LookStride::kLeastPart;
        EXPECT_EQ(stride.average_ticks(), is_long ? LookStride::kLongTicks : 1);
        EXPECT_EQ(stride.next_ticks(0), is_long ? LookStride::kLongTicks / 2 : 1);
        EXPECT_EQ(stride.next_ticks(0xffffffff), is_long ? LookStride::kMostTicks : 1);
    }
}

}  // namespace
}  // namespace sample::source

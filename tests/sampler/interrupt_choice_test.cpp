#include "sampler/source/thread_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace sample::source {
namespace {

/// Longer than the patience with sleepers, so that it makes no difference.
constexpr std::uint64_t kPeriod = 4 * InterruptChoice::kPatienceNs;

TEST(InterruptChoice, notices_that_a_thread_ran) {
    InterruptChoice choice;
    EXPECT_EQ(choice.check(5), 5U);
    EXPECT_EQ(choice.check(5), 0U);
    EXPECT_EQ(choice.check(6), 1U);
    EXPECT_EQ(choice.cpu_ns(), 6U);
}

TEST(InterruptChoice, waits_for_a_period) {
    InterruptChoice choice;
    (void)choice.check(kPeriod / 2 - 1);
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod / 2);
    EXPECT_TRUE(choice.is_due(kPeriod)) << "a look that comes early counts";
    choice.interrupted();
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

TEST(InterruptChoice, starts_a_random_part_of_a_period_ahead) {
    InterruptChoice choice{kPeriod - 100};
    (void)choice.check(1);
    EXPECT_TRUE(choice.is_due(kPeriod));
    choice.interrupted();
    (void)choice.check(kPeriod / 2);
    EXPECT_FALSE(choice.is_due(kPeriod)) << "only once";
    InterruptChoice quarter{kPeriod / 4};
    (void)quarter.check(1);
    EXPECT_FALSE(quarter.is_due(kPeriod));
    (void)quarter.check(kPeriod / 4);
    EXPECT_TRUE(quarter.is_due(kPeriod));
}

constexpr std::uint64_t kMs = 1'000'000;

/// A thread that ran for `cpu_ns` of every ten milliseconds, `waits_ns` of them for a processor.
InterruptChoice after_windows(std::uint64_t cpu_ns, std::uint64_t waits_ns) {
    InterruptChoice choice;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        (void)choice.check(i * cpu_ns);
        if (choice.wants_window(i * 10 * kMs)) {
            choice.end_window(i * 10 * kMs, i * waits_ns);
        }
    }
    choice.interrupted();
    return choice;
}

TEST(InterruptChoice, has_patience_with_a_thread_that_sleeps) {
    constexpr std::uint64_t kShort = 100'000;
    InterruptChoice choice = after_windows(9 * kMs, 0);
    (void)choice.check(choice.cpu_ns() + kShort);
    EXPECT_FALSE(choice.is_due(kShort));
    EXPECT_TRUE(choice.must_be_running());
    (void)choice.check(choice.cpu_ns() + InterruptChoice::kPatienceNs);
    EXPECT_TRUE(choice.is_due(kShort));
    (void)choice.check(choice.cpu_ns() + 4 * InterruptChoice::kPatienceNs);
    EXPECT_FALSE(choice.must_be_running()) << "not for ever";
}

TEST(InterruptChoice, leaves_out_looks_wherever_in_their_periods_they_come) {
    constexpr std::uint64_t kLook = kMs * 6 / 10;  // of those, patience leaves out every other one
    constexpr int kLooks = 4000;
    InterruptChoice choice;
    std::array<int, 4> due{};  // by quarters of the period
    std::uint32_t place = 0;
    for (std::uint64_t look = 1; look <= kLooks; ++look) {
        place += 0x9e3779b9U;
        const std::uint64_t into_ns = kLook * place >> 32U;
        (void)choice.check(look * kLook + into_ns, into_ns);
        if (choice.is_due(kLook)) {
            choice.interrupted();
            ++due[place >> 30U];
        }
    }
    for (const int looks : due) {
        EXPECT_NEAR(looks, kLooks / 8, kLooks / 100);
    }
}

TEST(InterruptChoice, takes_neither_running_nor_waiting_for_a_processor_for_sleep) {
    constexpr std::uint64_t kShort = 100'000;
    for (const std::uint64_t cpu : {10 * kMs, 3 * kMs}) {
        InterruptChoice choice = after_windows(cpu, 10 * kMs - cpu);
        (void)choice.check(choice.cpu_ns() + kShort);
        EXPECT_TRUE(choice.is_due(kShort)) << cpu;
        EXPECT_FALSE(choice.must_be_running()) << cpu;
    }
}

TEST(InterruptChoice, takes_a_thread_for_a_sleeper_until_it_is_known) {
    InterruptChoice choice;
    (void)choice.check(kMs);
    EXPECT_TRUE(choice.wants_window(kMs));
    choice.end_window(kMs, 0);
    EXPECT_FALSE(choice.is_due(kMs / 10) && !choice.must_be_running());
    EXPECT_FALSE(choice.wants_window(kMs + 1));
}

TEST(InterruptChoice, begins_anew_with_another_thread_under_the_same_id) {
    InterruptChoice choice = after_windows(9 * kMs, 0);
    EXPECT_EQ(choice.check(1), 1U);
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

}  // namespace
}  // namespace sample::source

#include "sampler/source/interrupt_choice.h"

#include <gtest/gtest.h>

namespace sample::source {
namespace {

constexpr std::uint64_t kPeriod = 1'000;

TEST(InterruptChoice, notices_that_a_thread_ran) {
    InterruptChoice choice;
    EXPECT_TRUE(choice.check(5));
    EXPECT_FALSE(choice.check(5));
    EXPECT_TRUE(choice.check(6));
    EXPECT_EQ(choice.cpu_ns(), 6U);
}

TEST(InterruptChoice, waits_for_a_period) {
    InterruptChoice choice;
    (void)choice.check(kPeriod / 4);
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod / 4 * 3 - 1);
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod / 4 * 3);
    EXPECT_TRUE(choice.is_due(kPeriod)) << "a tick that comes a little early counts";
    choice.interrupted();
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod / 4 * 7);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

TEST(InterruptChoice, starts_a_random_part_of_a_period_ahead) {
    InterruptChoice choice{kPeriod - 100};
    (void)choice.check(1);
    EXPECT_TRUE(choice.is_due(kPeriod));
    choice.interrupted();
    (void)choice.check(kPeriod / 2);
    EXPECT_FALSE(choice.is_due(kPeriod)) << "only once";
    InterruptChoice half{kPeriod / 2};
    (void)half.check(1);
    EXPECT_FALSE(half.is_due(kPeriod));
    (void)half.check(kPeriod / 4);
    EXPECT_TRUE(half.is_due(kPeriod));
}

TEST(InterruptChoice, asks_more_of_a_thread_that_mostly_sleeps) {
    InterruptChoice choice;
    for (int i = 0; i < 4; ++i) {
        choice.met(false);
    }
    (void)choice.check(kPeriod);
    EXPECT_TRUE(choice.is_due(kPeriod)) << "half of the last eight";
    choice.met(false);
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod * 8);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

TEST(InterruptChoice, forgets_that_it_slept) {
    InterruptChoice choice;
    (void)choice.check(kPeriod);
    for (int i = 0; i < 8; ++i) {
        choice.met(false);
    }
    for (int i = 0; i < 3; ++i) {
        choice.met(true);
        EXPECT_FALSE(choice.is_due(kPeriod)) << i;
    }
    choice.met(true);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

TEST(InterruptChoice, begins_anew_with_another_thread_under_the_same_id) {
    InterruptChoice choice;
    (void)choice.check(kPeriod * 100);
    choice.interrupted();
    for (int i = 0; i < 8; ++i) {
        choice.met(false);
    }
    EXPECT_TRUE(choice.check(kPeriod / 2));
    EXPECT_FALSE(choice.is_due(kPeriod));
    (void)choice.check(kPeriod);
    EXPECT_TRUE(choice.is_due(kPeriod));
}

}  // namespace
}  // namespace sample::source

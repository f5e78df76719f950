#include "sampler/source/pace.h"

#include <gtest/gtest.h>

namespace sample::source {
namespace {

/// Looks one after the other, each when the one before has said.
class Looks : public ::testing::Test {
protected:
    static constexpr std::uint64_t kPeriodNs = 1'000'000;
    static constexpr std::uint64_t kLookNs = 20'000;

    /// After `ran_ns` of the program since the look before.
    void look(std::uint64_t ran_ns, std::uint64_t period_ns = kPeriodNs) {
        now.now_ns += std::max(pace.wait_ns(period_ns), pace.rest_ns());
        now.own_ns += kLookNs;
        now.program_ns += ran_ns;
        now.ran_ns = ran_ns;
        pace.looked(now, period_ns);
    }
    void look_often(std::uint64_t ran_ns, int times, std::uint64_t period_ns = kPeriodNs) {
        for (int i = 0; i < times; ++i) {
            look(ran_ns, period_ns);
        }
    }

    Look now{.now_ns = 1};
    Pace pace{now};
};

TEST_F(Looks, at_a_program_that_does_nothing_come_twice_as_late_each_time) {
    look(0);
    EXPECT_EQ(pace.rest_ns(), 2 * kPeriodNs);
    look(0);
    EXPECT_EQ(pace.rest_ns(), 4 * kPeriodNs);
    look_often(0, 20);
    EXPECT_EQ(pace.rest_ns(), Pace::kMostRestNs);
}

TEST_F(Looks, for_waits_come_the_later_the_longer_these_are) {
    constexpr std::uint64_t kLong = 10'000'000'000;
    pace.looked_for_waits({.now_ns = kLong, .ran_ns = 1});
    EXPECT_EQ(pace.rest_ns(), 0U);
    pace.looked_for_waits({.now_ns = kLong + Pace::kWaitPart * kPeriodNs});
    EXPECT_EQ(pace.rest_ns(), kPeriodNs);
    pace.looked_for_waits({.now_ns = 10 * kLong});
    EXPECT_EQ(pace.rest_ns(), Pace::kMostWaitRestNs);
    pace.looked_for_waits({.now_ns = 10 * kLong + 1, .ran_ns = 1});
    EXPECT_EQ(pace.rest_ns(), 0U);
    EXPECT_EQ(pace.wait_ns(kPeriodNs), kPeriodNs);
}

TEST_F(Looks, at_a_program_that_runs_come_at_once_again) {
    look_often(0, 20);
    look(Pace::kMostRestNs / Pace::kBusyPart);
    EXPECT_EQ(pace.rest_ns(), 0U);
    look_often(kPeriodNs, 100);
    EXPECT_EQ(pace.rest_ns(), 0U);
    EXPECT_EQ(pace.wait_ns(kPeriodNs), kPeriodNs);
}

TEST_F(Looks, that_the_program_has_paid_for_come_each_period) {
    look(10 * kPeriodNs);
    for (std::uint64_t spent = 2 * kLookNs; spent < kPeriodNs; spent += kLookNs) {
        look(0);
        EXPECT_EQ(pace.rest_ns(), 0U);
    }
    look_often(0, 2);
    EXPECT_GT(pace.rest_ns(), 0U);
}

TEST_F(Looks, at_a_program_that_runs_a_little_come_when_a_period_will_be_over) {
    look_often(0, 60);
    look(Pace::kMostRestNs / 125);
    EXPECT_EQ(pace.rest_ns(), 125 * kPeriodNs);
}

TEST_F(Looks, that_come_more_often_than_ticks_meet_what_runs_a_little) {
    constexpr std::uint64_t kShort = kPeriodNs / 10;
    look_often(0, 20, kShort);
    EXPECT_EQ(pace.rest_ns(), Pace::kMostRestNs);
    look(kShort, kShort);
    EXPECT_EQ(pace.rest_ns(), 0U);
}

TEST_F(Looks, are_not_paid_for_by_clocks_that_are_read_apart) {
    for (int i = 0; i < 20; ++i) {
        now.program_ns = i % 2 == 0 ? 500 : 0;
        look(0);
    }
    EXPECT_EQ(pace.rest_ns(), Pace::kMostRestNs);
}

TEST_F(Looks, that_cost_much_of_a_busy_program_come_less_often) {
    look_often(kLookNs, 1000);
    EXPECT_EQ(pace.wait_ns(kPeriodNs), kPeriodNs << Pace::kMostDoublings);
    look_often(1000 * kLookNs, 1000);
    EXPECT_EQ(pace.wait_ns(kPeriodNs), kPeriodNs);
}

}  // namespace
}  // namespace sample::source

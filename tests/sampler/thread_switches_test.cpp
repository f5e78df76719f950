#include "sampler/attach/thread_switches.h"

#include <gtest/gtest.h>

namespace sample::attach {
namespace {

constexpr NodeId kPlace{7};

TEST(ThreadSwitches, tell_a_sleep_with_its_place_and_length) {
    ThreadSwitches thread = ThreadSwitches::made(100);
    const auto first = thread.in(130);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->is_for_processor);
    EXPECT_EQ(first->ns, 30U);
    thread.leaving(kPlace);
    thread.out(200, false);
    const auto sleep = thread.in(260);
    ASSERT_TRUE(sleep);
    EXPECT_FALSE(sleep->is_for_processor);
    EXPECT_EQ(sleep->where, kPlace);
    EXPECT_EQ(sleep->ns, 60U);
    EXPECT_FALSE(thread.is_away());
}

TEST(ThreadSwitches, one_that_is_put_off_does_not_sleep) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    thread.leaving(kPlace);
    thread.out(200, true);
    const auto wait = thread.in(250);
    ASSERT_TRUE(wait);
    EXPECT_TRUE(wait->is_for_processor);
    EXPECT_EQ(wait->ns, 50U);
}

TEST(ThreadSwitches, a_place_is_of_one_wait_alone) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    thread.leaving(kPlace);
    thread.out(200, false);
    static_cast<void>(thread.in(250));
    thread.out(300, false);  // its sample was lost
    const auto wait = thread.in(400);
    ASSERT_TRUE(wait);
    EXPECT_FALSE(wait->where);
}

TEST(ThreadSwitches, one_that_was_met_asleep_has_waited_since) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    const auto wait = thread.in(250);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->ns, 150U);
    EXPECT_FALSE(wait->where);
    // And one that was met running has not.
    ThreadSwitches running = ThreadSwitches::watched(100);
    EXPECT_FALSE(running.end(300, false));
    running = ThreadSwitches::watched(100);
    running.has_run();
    EXPECT_FALSE(running.is_away());
    EXPECT_FALSE(running.end(300, true));
    EXPECT_TRUE(ThreadSwitches::watched(100).end(300, true));
}

TEST(ThreadSwitches, a_wait_that_goes_on_counts_to_the_end) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    thread.leaving(kPlace);
    thread.out(200, false);
    const auto wait = thread.end(1000, false);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->ns, 800U);
    EXPECT_EQ(wait->where, kPlace);
    EXPECT_FALSE(thread.end(2000, false)) << "it is told once";
}

TEST(ThreadSwitches, what_was_lost_is_not_made_up) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    thread.leaving(kPlace);
    thread.out(200, false);
    EXPECT_TRUE(thread.lose());
    EXPECT_FALSE(thread.in(900));
    EXPECT_FALSE(thread.lose()) << "it runs";
    ThreadSwitches unknown;
    EXPECT_FALSE(unknown.in(900));
    unknown.out(1000, false);
    EXPECT_TRUE(unknown.in(1100));
}

TEST(ThreadSwitches, the_last_time_that_a_thread_leaves_is_no_wait) {
    ThreadSwitches thread = ThreadSwitches::made(100);
    static_cast<void>(thread.in(130));
    thread.finish();
    thread.leaving(kPlace);
    thread.out(200, false);
    EXPECT_FALSE(thread.is_away());
    EXPECT_FALSE(thread.end(900, true));
    EXPECT_FALSE(thread.lose());
    thread.out(950, false);
    EXPECT_FALSE(thread.end(1000, true));
}

// Records of two processors may have the same time.
TEST(ThreadSwitches, a_wait_is_never_negative) {
    ThreadSwitches thread = ThreadSwitches::watched(100);
    EXPECT_FALSE(thread.in(90));
    thread.out(200, false);
    EXPECT_FALSE(thread.in(200));
}

}  // namespace
}  // namespace sample::attach

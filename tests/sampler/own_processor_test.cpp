// A thread of the test program that leaves its processor.
#include "sampler/source/own_processor.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

namespace sample::source {
namespace {

/// More processors than a cpu_set_t has are no matter of this test.
cpu_set_t allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
}

bool allow(const cpu_set_t& set) {
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

class OwnProcessorOf : public ::testing::Test {
protected:
    void SetUp() override {
        if (!allow(before)) {
            GTEST_SKIP() << "threads may not choose their processors here";
        }
        processor.begin();
    }
    void TearDown() override { allow(before); }

    /// The thread has left one of `before`, or there is no other.
    void expect_aside() const {
        const cpu_set_t now = allowed();
        EXPECT_EQ(CPU_COUNT(&now), std::max(CPU_COUNT(&before) - 1, 1));
        EXPECT_TRUE(CPU_ISSET(sched_getcpu(), &now));
    }

    const cpu_set_t before = allowed();
    OwnProcessor processor;
};

TEST_F(OwnProcessorOf, a_thread_that_steps_aside_is_another_one_until_it_may_be_any) {
    for (int i = 0; i < 10; ++i) {
        processor.step_aside();
        expect_aside();
    }
    processor.use_any();
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
}

TEST_F(OwnProcessorOf, a_thread_is_none_but_those_that_others_allow_it) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    processor.step_aside();
    ASSERT_TRUE(allow(one));
    processor.step_aside();
    cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &one)) << "there is no other";
    processor.use_any();
    now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
    ASSERT_TRUE(allow(before));
    processor.step_aside();
    expect_aside();
}

}  // namespace
}  // namespace sample::source

// A thread of the test program that goes to another processor, and who had that before.
#include "sampler/source/own_processor.h"

#include "core/fd.h"
#include "sampler/source/tasks.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

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

    static unsigned first_of(const cpu_set_t& set) {
        unsigned number = 0;
        while (!CPU_ISSET(number, &set)) {
            ++number;
        }
        return number;
    }
    static void expect_on(unsigned number) {
        const cpu_set_t now = allowed();
        EXPECT_EQ(CPU_COUNT(&now), 1);
        EXPECT_TRUE(CPU_ISSET(number, &now));
        EXPECT_EQ(static_cast<unsigned>(sched_getcpu()), number);
    }

    const cpu_set_t before = allowed();
    OwnProcessor processor;
};

TEST_F(OwnProcessorOf, a_thread_is_the_one_that_it_goes_to_until_it_leaves_that_and_may_be_on_any) {
    for (unsigned number = 0; number < CPU_SETSIZE; ++number) {
        if (CPU_ISSET(number, &before)) {
            EXPECT_TRUE(processor.go_to(number));
            expect_on(number);
        }
    }
    processor.leave(first_of(before));
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
}

TEST_F(OwnProcessorOf, a_thread_that_leaves_is_another_where_there_is_one) {
    if (CPU_COUNT(&before) == 1) {
        GTEST_SKIP() << "there is one processor alone";
    }
    const unsigned here = first_of(before);
    int left = 0;
    for (int tries = 0; tries < 100; ++tries) {
        processor.go_to(here);
        processor.leave(here);
        left += static_cast<unsigned>(sched_getcpu()) != here ? 1 : 0;
    }
    EXPECT_GT(left, 50) << "now and then the kernel moves it back before it looks";
}

TEST_F(OwnProcessorOf, a_thread_is_none_but_those_that_others_allow_it) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first_of(before), &one);
    ASSERT_TRUE(allow(one));
    for (unsigned number = 0; number <= CPU_SETSIZE; ++number) {
        processor.go_to(number);
    }
    EXPECT_FALSE(processor.go_to(kNoProcessor));
    expect_on(first_of(one));
    processor.leave(first_of(one));
    processor.leave(kNoProcessor);
    cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
    ASSERT_TRUE(allow(before));
    processor.go_to(first_of(before));
    processor.leave(first_of(before));
    now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
}

/// A thread that was started here runs here.
class OtherThread {
public:
    OtherThread(int folder, void (*work)(std::atomic<bool>& is_over))
        : thread_{[this, work] {
              tid_ = ::gettid();
              work(is_over_);
          }} {
        while (tid_ == 0) {
            std::this_thread::yield();
        }
        schedule_ = Fd{static_cast<int>(open_task_file(folder, tid_, "sched"))};
    }
    ~OtherThread() {
        is_over_ = true;
        is_over_.notify_all();
        thread_.join();
    }
    OtherThread(const OtherThread&) = delete;
    OtherThread& operator=(const OtherThread&) = delete;

    [[nodiscard]] int tid() const { return tid_; }
    [[nodiscard]] std::uint64_t ran_ns() const { return ran_ns_of(schedule_.get()); }

private:
    std::atomic<int> tid_{0};
    std::atomic<bool> is_over_{false};
    Fd schedule_;
    std::thread thread_;
};

// What tells a thread that was stopped from one that sleeps, or has only been woken.
TEST_F(OwnProcessorOf, a_thread_was_that_of_the_one_that_ran_until_it_began_to) {
    const Fd folder{open_task_folder()};
    const Fd own{static_cast<int>(open_task_file(folder.get(), ::gettid(), "sched"))};
    if (ran_ns_of(own.get()) == 0) {
        GTEST_SKIP() << "the kernel does not tell until when threads ran";
    }
    processor.go_to(first_of(before));
    const OtherThread sleeper{folder.get(),
                              [](std::atomic<bool>& is_over) { is_over.wait(false); }};
    while (state_letter(folder.get(), sleeper.tid()) != 'S') {
        std::this_thread::yield();
    }
    const OtherThread runner{folder.get(), [](std::atomic<bool>& is_over) {
                                 while (!is_over) {
                                 }
                             }};
    bool was_met = false;
    for (int tries = 0; tries < 10'000 && !was_met; ++tries) {
        std::this_thread::sleep_for(std::chrono::microseconds{200});
        const std::uint64_t since_ns = ran_ns_of(own.get());
        EXPECT_NE(since_ns, sleeper.ran_ns());
        was_met = since_ns == runner.ran_ns();
    }
    EXPECT_TRUE(was_met);
}

}  // namespace
}  // namespace sample::source

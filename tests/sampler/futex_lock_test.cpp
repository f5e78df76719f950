#include "sampler/source/futex_lock.h"

#include "tests/sampler/child_process.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sample::source {
namespace {

TEST(FutexLock, lets_one_in_at_a_time) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 20'000;
    FutexLock lock;
    int count = 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; ++round) {
                const Locked locked{lock};
                ++count;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(count, kThreads * kRounds);
}

TEST(FutexLock, blocks_all_signals_while_it_is_held) {
    FutexLock lock;
    sigset_t mask;
    {
        const Locked locked{lock};
        ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        EXPECT_EQ(::sigismember(&mask, SIGTRAP), 1);
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(::sigismember(&mask, SIGTRAP), 0);
}

/// The calling thread keeps everyone else off this processor as long as it runs.
bool become_urgent_on_one_processor() {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &first);
    const sched_param urgent{50};
    return ::sched_setaffinity(0, sizeof first, &first) == 0 &&
           ::sched_setscheduler(0, SCHED_FIFO, &urgent) == 0;
}

TEST(FutexLock, lets_its_holder_run_though_a_real_time_thread_waits) {
    collector::Child child{[] {
        static FutexLock lock;
        static std::atomic<int> stage{0};
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &here);
        ::sched_setaffinity(0, sizeof here, &here);
        std::thread holder{[] {
            lock.lock();
            stage = 1;
            while (stage != 2) {
            }
            lock.unlock();
        }};
        while (stage != 1) {
            ::sched_yield();
        }
        if (!become_urgent_on_one_processor()) {
            ::_exit(2);
        }
        stage = 2;
        lock.lock();
        ::_exit(0);
    }};
    const int status = child.reap();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        GTEST_SKIP() << "real-time priority is not allowed here";
    }
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sample::source

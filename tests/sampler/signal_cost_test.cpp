#include "sampler/source/signal_cost.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <ctime>
#include <numeric>
#include <thread>

namespace sample::source {
namespace {

TEST(SignalCost, is_the_median_of_the_gaps_within_its_own_error) {
    std::array<std::uint64_t, 64> gaps{};
    std::iota(gaps.rbegin(), gaps.rend(), 1);
    gaps[0] = 1'000'000;  // a gap in which another program ran
    const auto cost = signal_cost_of(gaps);
    ASSERT_TRUE(cost);
    EXPECT_EQ(cost->ns, 33U);
    EXPECT_EQ(cost->low_ns, 25U);
    EXPECT_EQ(cost->high_ns, 41U);
}

TEST(SignalCost, of_few_gaps_is_not_known) {
    std::array<std::uint64_t, 7> gaps{1, 2, 3, 4, 5, 6, 7};
    EXPECT_FALSE(signal_cost_of(gaps));
}

TEST(SignalCost, is_measured_and_the_signal_is_as_it_was) {
    struct sigaction before {};
    struct sigaction after {};
    ::sigaction(SIGURG, nullptr, &before);
    const std::atomic<bool> is_over{false};
    const auto cost = measure_signal_cost(control::Source::timer, 1'000, is_over);
    ::sigaction(SIGURG, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler);
    if (cost) {  // a busy machine may give no time for it
        EXPECT_GT(cost->ns, 0U);
        EXPECT_LE(cost->low_ns, cost->ns);
        EXPECT_GE(cost->high_ns, cost->ns);
    }
}

/// Whoever waits for signals has them blocked in every thread.
TEST(SignalCost, takes_no_signal_that_somebody_sends) {
    sigset_t traps;
    sigset_t before;
    ::sigemptyset(&traps);
    ::sigaddset(&traps, SIGTRAP);
    ::pthread_sigmask(SIG_BLOCK, &traps, &before);
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> is_over{false};
        std::thread measurement{[&] {
            while (!is_over) {
                static_cast<void>(measure_signal_cost(control::Source::sigtrap, 10'000, is_over));
            }
        }};
        struct sigaction now {};
        while (now.sa_handler == SIG_DFL) {
            ::sigaction(SIGTRAP, nullptr, &now);
        }
        ::kill(::getpid(), SIGTRAP);
        is_over = true;
        measurement.join();
        siginfo_t info{};
        const timespec none{};
        EXPECT_EQ(::sigtimedwait(&traps, &info, &none), SIGTRAP) << round;
        EXPECT_EQ(info.si_pid, ::getpid());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace sample::source

// Writes zones all the time, and tells how many.
//
// usage: trace_zone_storm flood|leaves SECONDS
//
//   flood   two threads, as fast as they go
//   leaves  one thread in three leaf functions that have 50, 30 and 20 per cent of the work, a zone
//           around each unit of it, interrupted 10,000 times a second by a signal handler that
//           writes zones too
#include "sample/trace.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t g_handled = 0;

void tell_zones(std::uint64_t zones) {
    std::printf("zones=%llu\n", static_cast<unsigned long long>(zones));
}

std::uint64_t write_zones(Clock::time_point until) {
    constexpr std::uint64_t kAtOnce = 1'000;
    std::uint64_t rounds = 0;
    while (Clock::now() < until) {
        for (std::uint64_t i = 0; i < kAtOnce; ++i) {
            SAMPLE_TRACE_ZONE("outer");
            SAMPLE_TRACE_ZONE("inner");
        }
        rounds += kAtOnce;
    }
    return 2 * rounds;
}

void flood(Clock::time_point until) {
    std::uint64_t other = 0;
    std::thread thread{[&] { other = write_zones(until); }};
    const std::uint64_t own = write_zones(until);
    thread.join();
    tell_zones(own + other);
}

/// About half a microsecond.
[[gnu::always_inline]] inline std::uint64_t work_unit(std::uint64_t state) {
    for (int step = 0; step < 256; ++step) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
    }
    return state;
}

[[gnu::always_inline]] inline std::uint64_t kernel(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        SAMPLE_TRACE_ZONE("unit");
        state = work_unit(state);
    }
    return state;
}

[[gnu::noipa, gnu::aligned(64)]] std::uint64_t leaf_fifty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 50U, units);
}

[[gnu::noipa, gnu::aligned(64)]] std::uint64_t leaf_thirty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 30U, units);
}

[[gnu::noipa, gnu::aligned(64)]] std::uint64_t leaf_twenty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 20U, units);
}

void interrupt_often() {
    constexpr long kPeriodNs = 100'000;
    struct sigaction action {};
    action.sa_handler = [](int) {
        SAMPLE_TRACE_ZONE("handler");
        { SAMPLE_TRACE_ZONE("in handler"); }
        g_handled = g_handled + 1;
    };
    ::sigaction(SIGUSR1, &action, nullptr);
    timer_t timer{};
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    const itimerspec often{{0, kPeriodNs}, {0, kPeriodNs}};
    ::timer_settime(timer, 0, &often, nullptr);
}

void leaves(Clock::time_point until) {
    interrupt_often();
    std::uint64_t state = 88172645463325252U;
    std::uint64_t units = 0;
    while (Clock::now() < until) {
        const auto n = static_cast<unsigned>(1 + (state >> 40U) % 64);
        state = leaf_fifty(state, 5 * n);
        state = leaf_thirty(state, 3 * n);
        state = leaf_twenty(state, 2 * n);
        units += std::uint64_t{10} * n;
    }
    ::signal(SIGUSR1, SIG_IGN);
    benchmark::DoNotOptimize(state);
    tell_zones(units + 2 * static_cast<std::uint64_t>(g_handled));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const auto until = Clock::now() + std::chrono::seconds{std::strtol(argv[2], nullptr, 10)};
    if (std::string_view{argv[1]} == "flood") {
        flood(until);
    } else {
        leaves(until);
    }
}

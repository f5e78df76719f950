#include "sampler/collector/process/tick_clock.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

TEST(TickClock, puts_a_reading_between_two_of_the_kernels_clock) {
    TickClock clock;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t before = monotonic_ns();
        const std::uint64_t ticks = __builtin_ia32_rdtsc();
        const std::uint64_t after = monotonic_ns();
        clock.update();
        // The readings that the line goes through are some tens of ns wide.
        EXPECT_GE(clock.to_ns(ticks) + 20'000, before);
        EXPECT_LE(clock.to_ns(ticks), after + 20'000);
    }
}

TEST(TickClock, is_a_line) {
    const TickClock clock;
    EXPECT_GT(clock.ticks_per_ns(), 0.1);
    EXPECT_LT(clock.ticks_per_ns(), 20.0);
    const std::uint64_t now = __builtin_ia32_rdtsc();
    const auto second = static_cast<std::uint64_t>(1e9 * clock.ticks_per_ns());
    EXPECT_NEAR(static_cast<double>(clock.to_ns(now + second) - clock.to_ns(now)), 1e9, 10.0);
    EXPECT_NEAR(static_cast<double>(clock.to_ns(now) - clock.to_ns(now - second)), 1e9, 10.0)
        << "also before the first reading";
}

TEST(TickClock, real_time_is_later_than_the_year_2020) {
    EXPECT_GT(realtime_ns(), 1'577'836'800'000'000'000U);
}

}  // namespace
}  // namespace sample::collector

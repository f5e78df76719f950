#include "sampler/collector/events/bursts.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

constexpr std::uint64_t kUs = 1000;

TEST(Bursts, that_are_all_alike_are_as_long_around_a_moment_as_in_the_mean) {
    Bursts bursts;
    for (int visit = 0; visit < 100; ++visit) {
        bursts.add({500 * kUs, 10});
    }
    EXPECT_EQ(bursts.mean_ns(), 50 * kUs);
    EXPECT_EQ(bursts.around_a_moment_ns(), 50 * kUs);
}

TEST(Bursts, of_which_few_are_long_are_long_around_a_moment) {
    Bursts bursts;
    for (int visit = 0; visit < 100; ++visit) {
        const bool has_long = visit % 2 == 1;
        bursts.add({(has_long ? 1000 * kUs : 0) + 450 * kUs, has_long ? 10U : 9U});
    }
    EXPECT_EQ(bursts.mean_ns(), 100 * kUs);
    // Of 1,900 µs a thousand are in the long one.
    EXPECT_NEAR(static_cast<double>(bursts.around_a_moment_ns()),
                (1000.0 * 1000 + 18 * 50.0 * 50) / 1900 * kUs, 1);
}

TEST(Bursts, of_a_thread_that_goes_on_count_as_the_longest) {
    Bursts bursts;
    bursts.add({4000 * kUs, 0});
    EXPECT_EQ(bursts.around_a_moment_ns(), static_cast<std::uint64_t>(Bursts::kLongestNs));
    EXPECT_EQ(bursts.mean_ns(), 4000 * kUs);
}

TEST(Bursts, are_forgotten) {
    Bursts bursts;
    EXPECT_EQ(bursts.mean_ns(), 0U);
    EXPECT_EQ(bursts.around_a_moment_ns(), 0U);
    bursts.add({1000 * kUs, 1});
    for (int look = 0; look < 20; ++look) {
        bursts.forget_half();
        bursts.add({1000 * kUs, 100});
    }
    EXPECT_NEAR(static_cast<double>(bursts.mean_ns()), 10.0 * kUs, 1);
    EXPECT_LT(bursts.around_a_moment_ns(), 50 * kUs);
}

}  // namespace
}  // namespace sample::collector

#include "sampler/collector/sampling_price.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

TEST(SamplingPrice, is_the_usual_one_between_all) {
    const source::SignalCost usual = usual_cost({{30, 25, 60}, {10, 9, 11}, {12, 11, 13}});
    EXPECT_EQ(usual.ns, 12U);
    EXPECT_EQ(usual.low_ns, 10U);
    EXPECT_EQ(usual.high_ns, 30U);
}

TEST(SamplingPrice, of_one_measurement_has_its_interval) {
    const source::SignalCost once = usual_cost({{10, 9, 11}});
    EXPECT_EQ(once.ns, 10U);
    EXPECT_EQ(once.low_ns, 9U);
    EXPECT_EQ(once.high_ns, 11U);
}

}  // namespace
}  // namespace sample::collector

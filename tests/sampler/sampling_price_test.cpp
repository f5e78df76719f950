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

TEST(SamplingPrice, is_paid_by_who_asked_up_to_two_thirds_and_a_quarter_beyond) {
    EXPECT_EQ(affordable_frequency(10'000, {66'000, 66'000, 90'000}), 10'000U);
    EXPECT_EQ(affordable_frequency(10'000, {90'000, 60'000, 120'000}), 10'000U)
        << "others were busy";
    EXPECT_EQ(affordable_frequency(10'000, {100'000, 70'000, 120'000}), 2'500U);
    EXPECT_EQ(affordable_frequency(1'000, {100'000, 100'000, 100'000}), 1'000U);
    EXPECT_EQ(affordable_frequency(1'000, {10'000'000'000, 10'000'000'000, 10'000'000'000}), 1U);
}

}  // namespace
}  // namespace sample::collector

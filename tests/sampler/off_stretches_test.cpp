#include "sampler/collector/process/off_stretches.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

TEST(OffStretches, give_what_of_a_sample_lies_in_them) {
    OffStretches off;
    off.begin(100);
    off.end(150);
    off.begin(200);
    off.end(300);
    EXPECT_EQ(off.take(0, 50), 0U);
    EXPECT_EQ(off.take(50, 60), 10U);
    EXPECT_EQ(off.take(110, 100), 40U + 10U);
    EXPECT_EQ(off.take(210, 500), 90U);
    EXPECT_EQ(off.take(710, 500), 0U);
}

TEST(OffStretches, one_that_goes_on_has_all_behind_its_beginning) {
    OffStretches off;
    off.begin(100);
    EXPECT_EQ(off.take(50, 100), 50U);
    EXPECT_EQ(off.take(150, 1000), 1000U);
    off.end(2000);
    EXPECT_EQ(off.take(1150, 1000), 850U);
    EXPECT_EQ(off.take(2150, 1000), 0U);
}

TEST(OffStretches, of_a_thousand_nothing_is_lost) {
    OffStretches off;
    for (std::uint64_t at = 0; at < 10'000; at += 10) {
        off.begin(at);
        off.end(at + 4);
    }
    EXPECT_EQ(off.take(0, 20'000), 4'000U);
}

}  // namespace
}  // namespace sample::collector

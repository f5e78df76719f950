#include "symbolize/elf/interval_index.h"

#include <gtest/gtest.h>

#include <random>

namespace sample::symbolize {
namespace {

struct Interval {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t value;
};

std::optional<std::uint32_t> innermost(const std::vector<Interval>& intervals,
                                       std::uint64_t address) {
    const Interval* best = nullptr;
    for (const Interval& one : intervals) {
        if (address < one.start || address >= one.end) {
            continue;
        }
        if (best == nullptr || one.start > best->start ||
            (one.start == best->start && one.end < best->end) ||
            (one.start == best->start && one.end == best->end && one.value < best->value)) {
            best = &one;
        }
    }
    return best != nullptr ? std::optional{best->value} : std::nullopt;
}

TEST(IntervalIndex, is_empty_at_first) {
    IntervalIndex index;
    index.build();
    EXPECT_EQ(index.find(0), std::nullopt);
}

TEST(IntervalIndex, excludes_the_end) {
    IntervalIndex index;
    index.add(10, 20, 1);
    index.build();
    EXPECT_EQ(index.find(9), std::nullopt);
    EXPECT_EQ(index.find(10), 1U);
    EXPECT_EQ(index.find(19), 1U);
    EXPECT_EQ(index.find(20), std::nullopt);
}

TEST(IntervalIndex, prefers_the_innermost) {
    IntervalIndex index;
    index.add(0, 100, 1);
    index.add(10, 20, 2);
    index.add(10, 15, 3);
    index.build();
    EXPECT_EQ(index.find(9), 1U);
    EXPECT_EQ(index.find(14), 3U);
    EXPECT_EQ(index.find(15), 2U);
    EXPECT_EQ(index.find(20), 1U);
}

TEST(IntervalIndex, reaches_the_last_address) {
    IntervalIndex index;
    index.add(5, ~std::uint64_t{0}, 1);
    index.build();
    EXPECT_EQ(index.find(~std::uint64_t{0} - 1), 1U);
    EXPECT_EQ(index.find(~std::uint64_t{0}), std::nullopt);
}

TEST(IntervalIndex, agrees_with_a_linear_search_on_any_overlap) {
    std::mt19937 random{1};
    for (int round = 0; round < 200; ++round) {
        IntervalIndex index;
        std::vector<Interval> intervals;
        for (std::uint32_t i = 0; i < 12; ++i) {
            const std::uint64_t start = random() % 40;
            intervals.push_back({start, start + random() % 15, i});
            index.add(start, intervals.back().end, i);
        }
        index.build();
        for (std::uint64_t address = 0; address < 60; ++address) {
            ASSERT_EQ(index.find(address), innermost(intervals, address))
                << "round " << round << ", address " << address;
        }
    }
}

}  // namespace
}  // namespace sample::symbolize

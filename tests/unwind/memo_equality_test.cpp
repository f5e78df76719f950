// A walk with a memory of the last one finds what a walk without it finds: on hand-made stacks that
// change in every way.
//
//     SAMPLE_MEMO_STEPS=10000000 unwind_memo_test --gtest_filter=MemoEquality.*
//
// makes so many comparisons for each seed.
#include "tests/unwind/memo_world.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sample::unwind::testing {
namespace {

std::uint64_t steps() {
    const char* text = std::getenv("SAMPLE_MEMO_STEPS");  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? 50'000 : std::strtoull(text, nullptr, 10);
}

class MemoEquality : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MemoEquality, holds_whatever_changes) {
    World world{Choices{GetParam()}};
    const std::uint64_t count = steps();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string difference = world.step();
        ASSERT_EQ(difference, "") << "step " << i;
    }
    // Or nothing was proved.
    const World::Counts counts = world.counts();
    RecordProperty("joined", static_cast<int>(counts.joined));
    EXPECT_GT(counts.at_root, count / 4);
    EXPECT_GT(counts.joined, count / 8);
    EXPECT_GT(counts.elided, count / 100);
    EXPECT_GT(counts.guessed, count / 1000);
    EXPECT_GT(counts.restored, count / 1000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoEquality, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace sample::unwind::testing

// What a walk leaves out of a deep stack.
#include "tests/unwind/memo_walk_fixture.h"

namespace sample::unwind {
namespace {

using testing::MemoWalk;

/// What the contract says of a stack too deep.
std::vector<FrameAddress> elided(const std::vector<FrameAddress>& whole, std::size_t max_depth) {
    if (whole.size() <= max_depth) {
        return whole;
    }
    const auto leaf = static_cast<std::ptrdiff_t>(max_depth / 2);
    const auto root = static_cast<std::ptrdiff_t>(max_depth) - 1 - leaf;
    std::vector<FrameAddress> kept{whole.begin(), whole.begin() + root};
    kept.push_back(FrameAddress::elided());
    kept.insert(kept.end(), whole.end() - leaf, whole.end());
    return kept;
}

TEST_F(MemoWalk, keeps_both_ends_of_a_stack_that_is_too_deep) {
    stack_.resize(2 * 1000 + 2);
    for (const std::size_t max_depth : {16U, 17U, 18U, 64U, 100U, 101U}) {
        const std::size_t turn = max_depth - max_depth / 2;
        for (const std::size_t depth :
             {max_depth - 1, max_depth, max_depth + 1, max_depth + 2, max_depth + turn - 1,
              max_depth + turn, max_depth + turn + 1, max_depth + 2 * turn,
              max_depth + 2 * turn + 1, std::size_t{999}, std::size_t{1000}}) {
            memo_->reset();
            make_deep(depth, 0, 3);
            const WalkResult result = walk(max_depth);
            EXPECT_EQ(result.reason, StopReason::root);
            EXPECT_EQ(result.depth, std::min(depth, max_depth));
            EXPECT_EQ(found(), elided(whole(), max_depth)) << depth << " of " << max_depth;
        }
    }
}

TEST_F(MemoWalk, keeps_both_ends_whatever_it_takes_over) {
    stack_.resize(2 * 1000 + 2);
    for (const std::size_t max_depth : {16U, 17U, 64U, 101U}) {
        std::size_t joins = 0;
        for (unsigned round = 0; round < 3000; ++round) {
            // Around the border, and far from it.
            const std::size_t depth =
                round % 7 == 0 ? 2 + round % 997 : max_depth - 12 + round * 7919 % 40;
            const std::size_t changed = std::min<std::size_t>(round * 31 % 20, depth - 1);
            make_deep(std::max<std::size_t>(depth, 2), changed, round);
            const WalkResult result = walk(max_depth);
            ASSERT_EQ(result.reason, StopReason::root);
            ASSERT_EQ(found(), elided(whole(), max_depth))
                << "round " << round << " of " << max_depth << ", depth " << depth;
            joins += memo_->joined() != 0 ? 1 : 0;
        }
        EXPECT_GT(joins, 2000U);
    }
}

TEST_F(MemoWalk, keeps_both_ends_when_the_limit_changes) {
    stack_.resize(2 * 1000 + 2);
    for (const std::size_t max_depth : {500U, 16U, 64U, 17U, 8192U, 40U, 39U}) {
        make_deep(300, 2, static_cast<unsigned>(max_depth));
        (void)walk(max_depth);
        EXPECT_EQ(found(), elided(whole(), max_depth)) << max_depth;
    }
}

TEST_F(MemoWalk, takes_a_limit_out_of_range_for_the_nearest_one) {
    make_deep(100, 0, 0);
    EXPECT_EQ(walk(1).depth, StackMemo::kMinDepth);
    EXPECT_EQ(found(), elided(whole(), StackMemo::kMinDepth));
    make_deep(10'000, 0, 0);
    EXPECT_EQ(walk(100'000).depth, StackMemo::kMaxFrames);
    EXPECT_EQ(found(), elided(whole(), StackMemo::kMaxFrames));
}

TEST_F(MemoWalk, keeps_the_ends_of_the_deepest_stacks) {
    make_deep(60'000, 0, 0);
    for (const std::size_t max_depth : {std::size_t{128}, StackMemo::kMaxFrames}) {
        memo_->reset();
        make_deep(60'000, 0, 1);
        EXPECT_EQ(walk(max_depth).reason, StopReason::root);
        EXPECT_EQ(found(), elided(whole(), max_depth));
        make_deep(59'000, 5, 2);
        EXPECT_EQ(walk(max_depth).reason, StopReason::root);
        EXPECT_GT(memo_->joined(), max_depth == 128 ? 60U : 2000U);
        EXPECT_EQ(found(), elided(whole(), max_depth));
    }
}

TEST_F(MemoWalk, keeps_the_leaf_half_where_no_root_is_in_reach) {
    make_deep(kMaxWalked + 2000, 0, 0);
    const WalkResult result = walk(128);
    EXPECT_EQ(result.reason, StopReason::depth_limit);
    EXPECT_EQ(result.depth, 64U);
    EXPECT_EQ(memo_->linked(), 0U);
    const std::vector<FrameAddress> all = whole();
    EXPECT_EQ(found(), (std::vector<FrameAddress>{all.end() - 64, all.end()}));
}

TEST_F(MemoWalk, gets_further_where_what_is_out_of_reach_was_met_before) {
    // A recursion that goes on past the limit is walked down to where it was known already.
    make_deep(kMaxWalked - 9000, 0, 0);
    EXPECT_EQ(walk().reason, StopReason::root);
    stack_.insert(stack_.begin(), 4000, 0);
    memo_->reset();
    make_deep(kMaxWalked - 9000, 0, 0);
    EXPECT_EQ(walk().reason, StopReason::root);
    make_deep(kMaxWalked - 7000, 0, 0);
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(memo_->joined(), StackMemo::kMaxLinked);
    EXPECT_EQ(found(), elided(whole(), StackMemo::kMaxFrames));
}

}  // namespace
}  // namespace sample::unwind

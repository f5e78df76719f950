// What a walk takes over from the one before, what it leaves out of a deep stack, and what it must
// notice; on stacks made by hand.
#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace sample::unwind {
namespace {

using testing::CfiBuilder;

class MemoWalk : public ::testing::Test {
protected:
    MemoWalk() : stack_(256) {
        // 0: CFA = rsp + 8. 16: rsp + 16. 32: rbp + 16, rbp saved at CFA - 16. 48: realigned.
        // 64: *(rsp + 8) + 8. 80: root. 96: CFA = rsp + 24, rbp saved at CFA - 16.
        builder_.fde(0, 16, {}).fde(16, 16, {0x0e, 16}).fde(32, 16, {0x0c, 6, 16, 0x86, 2});
        builder_.fde(48, 16, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
        builder_.fde(64, 16, {0x0f, 5, 0x77, 8, 0x06, 0x23, 8}).fde(80, 16, {0x07, 16});
        builder_.fde(96, 16, {0x0e, 24, 0x86, 2});
        signals_.augmentation = "zRS";
        signals_.fde(0, 16, {0x0f, 4, 0x77, 0xa0, 0x01, 0x06});
        modules_ = {module_of(builder_), module_of(signals_)};
        modules_.resize(sort_modules(modules_));
        registers_.value[Registers::kSp] = at(0);
        registers_.value[Registers::kPc] = pc(0);
    }

    static Module module_of(CfiBuilder& builder) {
        const cfi::Tables tables = builder.tables();
        Module module;
        module.span = {builder.pc(0), builder.pc(0x400)};
        module.header = tables.header;
        module.header_size = tables.header_size;
        module.tables = {tables.low, tables.high};
        return module;
    }

    [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return builder_.pc(offset); }
    [[nodiscard]] std::uint64_t at(std::uint64_t word) const {
        return reinterpret_cast<std::uint64_t>(stack_.data() + word);
    }
    [[nodiscard]] FrameAddress caller(std::uint64_t offset) const {
        return FrameAddress{ReturnAddress{pc(offset)}};
    }
    [[nodiscard]] StackMemory memory() const {
        return StackMemory::live({at(0), at(stack_.size())}, StackMemory::Outside::fail);
    }

    WalkResult walk(std::size_t max_depth = StackMemo::kMaxFrames) {
        const ModuleTable modules{modules_, generation_, LoaderLookup::off};
        RowCache cache{*rows_};
        StackMemory stack = memory();
        return unwind::walk(modules, cache, registers_, stack, *memo_, max_depth);
    }
    /// Root first, by a walk that remembers nothing.
    std::vector<FrameAddress> whole() {
        const ModuleTable modules{modules_, generation_, LoaderLookup::off};
        RowCache cache{*rows_};
        StackMemory stack = memory();
        std::vector<FrameAddress> frames(std::size_t{kMaxWalked} * 2);
        const WalkResult result = unwind::walk(modules, cache, registers_, stack, frames);
        frames.resize(result.depth);
        std::reverse(frames.begin(), frames.end());
        return frames;
    }
    [[nodiscard]] std::vector<FrameAddress> found() const {
        const auto frames = memo_->root_first();
        return {frames.begin(), frames.end()};
    }
    void expect_whole() { EXPECT_EQ(found(), whole()); }

    /// A stack `depth` frames deep, each two words; the innermost `changed` of them differ from
    /// those of another `seed`.
    void make_deep(std::size_t depth, std::size_t changed, unsigned seed) {
        if (stack_.size() < 2 * depth + 2) {
            stack_.resize(2 * depth + 2);
        }
        // The root's return address is the last word; a deeper stack begins further down.
        const std::size_t first = stack_.size() - 2 * depth - 2;
        for (std::size_t frame = 0; frame + 1 < depth; ++frame) {
            const std::size_t from_root = depth - 2 - frame;
            const std::uint64_t site = frame < changed ? 20 + seed % 8 : 17 + from_root % 3;
            stack_[first + 2 * frame + 1] = pc(site);
        }
        stack_[first + 2 * (depth - 1) + 1] = 0;
        registers_.value[Registers::kPc] = pc(16 + seed % 16);
        registers_.value[Registers::kSp] = at(first);
    }

    CfiBuilder builder_;
    CfiBuilder signals_;
    Registers registers_{};
    std::vector<std::uint64_t> stack_;
    std::uint64_t generation_ = 1;
    std::unique_ptr<StackMemo> memo_ = std::make_unique<StackMemo>();

private:
    std::vector<Module> modules_;
    std::unique_ptr<std::array<RowCache::Entry, 256>> rows_ =
        std::make_unique<std::array<RowCache::Entry, 256>>();
};

TEST_F(MemoWalk, takes_over_the_callers_that_have_not_changed) {
    make_deep(50, 0, 0);
    EXPECT_EQ(walk().depth, 50U);
    EXPECT_EQ(memo_->joined(), 0U);
    EXPECT_EQ(memo_->linked(), 49U) << "all but the leaf";
    expect_whole();
    make_deep(50, 3, 1);
    EXPECT_EQ(walk().depth, 50U);
    EXPECT_EQ(memo_->joined(), 46U);
    EXPECT_EQ(memo_->kept(), 46U);
    expect_whole();
    make_deep(50, 3, 2);
    EXPECT_EQ(walk().depth, 50U);
    EXPECT_EQ(memo_->joined(), 46U);
    expect_whole();
    make_deep(60, 3, 2);
    EXPECT_EQ(walk().depth, 60U);
    EXPECT_EQ(memo_->joined(), 46U);
    expect_whole();
}

TEST_F(MemoWalk, takes_over_at_once_where_only_the_leaf_is_new) {
    make_deep(50, 0, 0);
    EXPECT_EQ(walk().depth, 50U);
    for (unsigned seed = 1; seed < 8; ++seed) {
        make_deep(50, 0, seed);
        EXPECT_EQ(walk().reason, StopReason::root);
        EXPECT_EQ(memo_->joined(), 49U);
        EXPECT_EQ(memo_->kept(), 49U);
        expect_whole();
    }
    // The very same again: the leaf is the same, too, but nobody may rely on it.
    EXPECT_EQ(walk().depth, 50U);
    EXPECT_EQ(memo_->kept(), 50U);
}

TEST_F(MemoWalk, forgets_with_a_new_generation_of_modules) {
    make_deep(50, 0, 0);
    (void)walk();
    ++generation_;
    (void)walk();
    EXPECT_EQ(memo_->joined(), 0U);
    expect_whole();
    memo_->reset();
    (void)walk();
    EXPECT_EQ(memo_->joined(), 0U);
    expect_whole();
}

TEST_F(MemoWalk, notices_each_return_address) {
    for (std::size_t word = 1; word < 100; word += 2) {
        make_deep(50, 0, 0);
        (void)walk();
        std::uint64_t& changed = stack_[stack_.size() - 102 + word];
        changed = word < 99 ? pc(31) : pc(80 + 4);
        (void)walk();
        expect_whole();
        EXPECT_GE(found().size(), 50U);
    }
}

TEST_F(MemoWalk, notices_a_changed_cfa_of_a_realigned_frame) {
    // The leaf, a realigned frame, and two stacks that its CFA may lead to: no return address that
    // the first walk read is different in the second, nor is a saved rbp.
    registers_.value[Registers::kBp] = at(8);
    stack_[0] = pc(52);
    stack_[7] = at(16);  // The CFA.
    stack_[8] = at(60);  // rbp'
    stack_[15] = pc(20);
    stack_[17] = pc(84);
    stack_[31] = pc(24);
    stack_[33] = pc(88);
    (void)walk();
    EXPECT_EQ(found(), (std::vector{caller(84), caller(20), caller(52), FrameAddress{Pc{pc(0)}}}));
    EXPECT_EQ(memo_->linked(), 3U);
    (void)walk();
    EXPECT_EQ(memo_->joined(), 3U);
    stack_[7] = at(32);
    (void)walk();
    EXPECT_EQ(found(), (std::vector{caller(88), caller(24), caller(52), FrameAddress{Pc{pc(0)}}}));
    expect_whole();
}

TEST_F(MemoWalk, notices_a_changed_cfa_by_rsp) {
    stack_[0] = pc(68);
    stack_[2] = at(10);  // The CFA is 8 above.
    stack_[10] = pc(84);
    stack_[20] = pc(88);
    (void)walk();
    EXPECT_EQ(found(), (std::vector{caller(84), caller(68), FrameAddress{Pc{pc(0)}}}));
    EXPECT_EQ(memo_->linked(), 2U);
    stack_[2] = at(20);
    (void)walk();
    EXPECT_EQ(found(), (std::vector{caller(88), caller(68), FrameAddress{Pc{pc(0)}}}));
}

TEST_F(MemoWalk, notices_a_changed_rbp_where_it_is_read) {
    // The leaf's caller saves rbp, which the frame above it needs.
    stack_[0] = pc(100);
    stack_[2] = at(10);
    stack_[3] = pc(36);
    stack_[11] = pc(84);
    stack_[21] = pc(88);
    registers_.value[Registers::kBp] = 1;
    (void)walk();
    EXPECT_EQ(found().front(), caller(84));
    registers_.value[Registers::kBp] = 2;
    (void)walk();
    EXPECT_EQ(memo_->joined(), 3U) << "rbp is saved before it is read";
    stack_[2] = at(20);
    (void)walk();
    EXPECT_EQ(found().front(), caller(88));
    expect_whole();
    // The same with rbp in its register.
    stack_[0] = pc(36);
    registers_.value[Registers::kBp] = at(10);
    (void)walk();
    EXPECT_EQ(found().front(), caller(84));
    registers_.value[Registers::kBp] = at(20);
    (void)walk();
    EXPECT_EQ(found().front(), caller(88));
    EXPECT_EQ(memo_->joined(), 0U);
}

TEST_F(MemoWalk, links_nothing_where_no_root_was_found) {
    make_deep(20, 0, 0);
    (void)walk();
    EXPECT_EQ(memo_->linked(), 19U);
    stack_[stack_.size() - 3] = pc(0x200);
    EXPECT_EQ(walk().reason, StopReason::no_cfi);
    EXPECT_EQ(memo_->linked(), 0U);
    EXPECT_EQ(memo_->kept(), 0U) << "it has another root";
    expect_whole();
}

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

TEST_F(MemoWalk, takes_no_forged_mark_for_a_frame) {
    // A word with a mark's bits is no return address, whatever frame it resembles.
    make_deep(50, 0, 0);
    (void)walk();
    for (const std::uint64_t mark : {1U, 2U, 3U}) {
        make_deep(50, 0, 0);
        (void)walk();
        stack_[stack_.size() - 101] |= mark << 62;
        EXPECT_EQ(walk().reason, StopReason::no_module);
        expect_whole();
        EXPECT_EQ(found().size(), 1U);
    }
}

TEST_F(MemoWalk, takes_no_forged_mark_for_the_frame_that_a_signal_interrupted) {
    // The leaf, called by the trampoline; what was interrupted is at word 60, and its caller.
    stack_[0] = signals_.pc(0) + 1;
    stack_[(8 + 40) / 8 + 15] = at(60);
    stack_[(8 + 40) / 8 + 16] = pc(19);
    stack_[61] = pc(84);
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(found(),
              (std::vector{caller(84), FrameAddress{Pc{pc(19)}},
                           FrameAddress{Pc{signals_.pc(0) + 1}}, FrameAddress{Pc{pc(0)}}}));
    EXPECT_EQ(memo_->linked(), 2U);
    EXPECT_EQ(walk().depth, 4U);
    EXPECT_EQ(memo_->joined(), 2U);
    // Not interrupted, but called, by a word that looks like what a stack says of it.
    for (const std::uint64_t offset : {0U, 16U}) {
        registers_.value[Registers::kPc] = pc(offset);
        registers_.value[Registers::kSp] = at(offset == 0 ? 59 : 58);
        stack_[59] = FrameAddress{Pc{pc(19)}}.bits();
        (void)walk();  // Without the row in the cache, and with it.
        EXPECT_EQ(walk().reason, StopReason::no_module);
        EXPECT_EQ(memo_->joined(), 0U);
        expect_whole();
        // Again what was there, so that something is linked.
        registers_.value[Registers::kPc] = pc(0);
        registers_.value[Registers::kSp] = at(0);
        (void)walk();
        EXPECT_EQ(memo_->linked(), 2U);
        registers_.value[Registers::kPc] = pc(offset);
        registers_.value[Registers::kSp] = at(offset == 0 ? 59 : 58);
        EXPECT_EQ(walk().reason, StopReason::no_module);
        expect_whole();
        registers_.value[Registers::kPc] = pc(0);
        registers_.value[Registers::kSp] = at(0);
        (void)walk();
    }
}

}  // namespace
}  // namespace sample::unwind

// What a walk takes over from the one before, and what it must notice.
#include "tests/unwind/memo_walk_fixture.h"

namespace sample::unwind {
namespace {

using testing::MemoWalk;

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

// Walks over hand-made stacks with hand-made tables: what no compiler would give us on demand.
#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace sample::unwind {
namespace {

using testing::Bytes;
using testing::CfiBuilder;

constexpr std::uint64_t kStack = 0x7ffc00001000;

class WalkRecorded : public ::testing::Test {
protected:
    WalkRecorded() { registers_.value[Registers::kSp] = kStack; }

    WalkResult walk() {
        const cfi::Tables tables = builder_.tables();
        module_.span = {builder_.pc(0), builder_.pc(0x10000)};
        module_.header = tables.header;
        module_.header_size = tables.header_size;
        module_.tables = {tables.low, tables.high};
        module_.entry = entry_ == 0 ? 0 : builder_.pc(entry_);
        const ModuleTable modules{{&module_, 1}, 1, LoaderLookup::off};
        StackMemory memory = StackMemory::recorded(kStack, std::as_bytes(std::span{stack_}));
        RowCache cache{*storage_};
        return unwind::walk(modules, cache, registers_, memory, std::span{out_}.first(room_));
    }
    void set_pc(std::uint64_t offset) { registers_.value[Registers::kPc] = builder_.pc(offset); }
    [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return builder_.pc(offset); }
    /// The stack's address of a word.
    static constexpr std::uint64_t at(std::uint64_t word) { return kStack + 8 * word; }

    CfiBuilder builder_;
    Registers registers_{};
    std::array<std::uint64_t, 64> stack_{};
    std::array<FrameAddress, 64> out_{};
    std::size_t room_ = 64;
    std::uint64_t entry_ = 0;

private:
    Module module_;
    std::unique_ptr<std::array<RowCache::Entry, 256>> storage_ =
        std::make_unique<std::array<RowCache::Entry, 256>>();
};

TEST_F(WalkRecorded, stops_at_a_zero_return_address) {
    builder_.fde(0, 16, {}).fde(16, 16, {0x0e, 24});
    set_pc(0);
    stack_[0] = pc(20);  // Frame 1 has 24 bytes: its return address is at word 3.
    const WalkResult result = walk();
    EXPECT_EQ(result.reason, StopReason::root);
    ASSERT_EQ(result.depth, 2U);
    EXPECT_EQ(out_[0], FrameAddress{Pc{pc(0)}});
    EXPECT_EQ(out_[1], FrameAddress{ReturnAddress{pc(20)}});
    EXPECT_EQ(result.rows_compiled, 2U);
    EXPECT_EQ(walk().rows_compiled, 0U);
}

TEST_F(WalkRecorded, stops_at_an_undefined_return_address) {
    builder_.fde(0, 16, {}).fde(16, 16, {0x07, 16});
    set_pc(0);
    stack_[0] = pc(20);
    stack_[1] = pc(20);
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(walk().depth, 2U);
}

TEST_F(WalkRecorded, looks_a_return_address_up_at_its_call) {
    // The call is the last instruction of a function that never gets back.
    builder_.fde(0, 16, {}).fde(16, 16, {0x0e, 16}).fde(32, 16, {0x0e, 64});
    set_pc(0);
    stack_[0] = pc(32);
    stack_[2] = pc(4);
    EXPECT_EQ(walk().depth, 3U);
    EXPECT_EQ(out_[2], FrameAddress{ReturnAddress{pc(4)}});
}

TEST_F(WalkRecorded, stops_at_the_start_code_that_has_no_rules) {
    builder_.fde(0, 16, {});
    entry_ = 0x100;
    set_pc(0);
    stack_[0] = pc(0x110);
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(walk().depth, 2U);
    stack_[0] = pc(0x150);  // Free Pascal's
    EXPECT_EQ(walk().reason, StopReason::root);
    stack_[0] = pc(0x300);
    EXPECT_EQ(walk().reason, StopReason::no_cfi);
}

TEST_F(WalkRecorded, tells_a_full_array_from_a_whole_stack) {
    builder_.fde(0, 16, {}).fde(16, 16, {});
    set_pc(0);
    stack_[0] = pc(20);
    stack_[1] = pc(20);
    room_ = 3;
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(walk().depth, 3U);
    room_ = 2;
    EXPECT_EQ(walk().reason, StopReason::depth_limit);
    EXPECT_EQ(walk().depth, 2U);
    room_ = 0;
    EXPECT_EQ(walk().reason, StopReason::depth_limit);
    EXPECT_EQ(walk().depth, 0U);
}

TEST_F(WalkRecorded, follows_rbp_and_restores_it) {
    builder_.fde(0, 16, {}).fde(16, 16, {0x0c, 6, 16, 0x86, 2});
    set_pc(0);
    registers_.value[Registers::kBp] = at(10);
    stack_[0] = pc(20);
    stack_[10] = at(20);
    stack_[11] = pc(21);
    stack_[21] = pc(22);
    stack_[20] = at(62);
    const WalkResult result = walk();
    EXPECT_EQ(result.depth, 4U);
    EXPECT_EQ(result.reason, StopReason::root);
    EXPECT_EQ(out_[3], FrameAddress{ReturnAddress{pc(22)}});
}

TEST_F(WalkRecorded, refuses_frames_that_do_not_lead_outwards) {
    builder_.fde(0, 16, {0x0c, 6, 16, 0x86, 2});
    set_pc(4);
    registers_.value[Registers::kBp] = at(4);
    stack_[4] = at(4);  // Its own frame again.
    stack_[5] = pc(4);
    EXPECT_EQ(walk().reason, StopReason::no_progress);
    EXPECT_EQ(walk().depth, 2U);
}

TEST_F(WalkRecorded, stops_where_the_stack_ends) {
    builder_.fde(0, 16, {}).fde(16, 16, {0x0e, 0x80, 0x10});
    set_pc(0);
    stack_[0] = pc(20);
    EXPECT_EQ(walk().reason, StopReason::unreadable_memory);
    registers_.value[Registers::kSp] = kStack + 4;
    EXPECT_EQ(walk().reason, StopReason::unreadable_memory);
    EXPECT_EQ(walk().depth, 1U);
}

TEST_F(WalkRecorded, keeps_a_register_that_an_epilogue_has_popped) {
    // After pop %rbp the rule still names its slot, which a copy that begins at rsp does not hold.
    builder_.fde(0, 16, {0x86, 2}).fde(16, 16, {0x0c, 6, 16, 0x86, 2});
    set_pc(0);
    registers_.value[Registers::kBp] = at(10);
    stack_[0] = pc(20);
    const WalkResult result = walk();
    EXPECT_EQ(result.reason, StopReason::root);
    EXPECT_EQ(result.depth, 2U);
}

TEST_F(WalkRecorded, writes_no_frame_for_a_word_that_is_no_address) {
    builder_.fde(0, 16, {});
    set_pc(0);
    stack_[0] = 0xdeadbeefdeadbeef;
    EXPECT_EQ(walk().reason, StopReason::no_module);
    EXPECT_EQ(walk().depth, 1U);
    stack_[0] = 0x10000;  // Unknown, but it may be machine code made at run time.
    EXPECT_EQ(walk().depth, 2U);
}

TEST_F(WalkRecorded, uses_any_register_at_the_leaf) {
    builder_.fde(0, 16, {0x0c, 12, 16});
    set_pc(0);
    registers_.value[12] = at(6);
    stack_[7] = 0;
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_FALSE(walk().restored_all);
}

TEST_F(WalkRecorded, starts_over_for_a_caller_that_needs_another_register) {
    // The leaf saves rbx and changes it; its caller's CFA is rbx + 16.
    builder_.fde(0, 16, {0x0e, 16, 0x83, 2}).fde(16, 16, {0x0c, 3, 16}).fde(32, 16, {});
    set_pc(0);
    registers_.value[Registers::kBx] = 1;
    stack_[0] = at(8);
    stack_[1] = pc(20);
    stack_[9] = pc(36);
    const WalkResult result = walk();
    EXPECT_TRUE(result.restored_all);
    EXPECT_EQ(result.reason, StopReason::root);
    ASSERT_EQ(result.depth, 3U);
    EXPECT_EQ(out_[2], FrameAddress{ReturnAddress{pc(36)}});
}

TEST_F(WalkRecorded, gives_up_on_a_register_that_no_frame_keeps) {
    // The leaf loses rcx, and its caller's CFA is rcx + 16.
    builder_.fde(0, 16, {0x07, 2}).fde(16, 16, {0x0c, 2, 16});
    set_pc(0);
    stack_[0] = pc(20);
    EXPECT_EQ(walk().reason, StopReason::unsupported_rule);
    EXPECT_EQ(walk().depth, 2U);
}

TEST_F(WalkRecorded, believes_scratch_registers_kept_where_no_rule_says_otherwise) {
    // As OpenSSL's assembly has it: a helper that leaves its caller's rcx alone.
    builder_.fde(0, 16, {}).fde(16, 16, {0x0c, 2, 16}).fde(32, 16, {});
    set_pc(0);
    registers_.value[2] = at(4);
    stack_[0] = pc(20);
    stack_[5] = pc(36);
    const WalkResult result = walk();
    EXPECT_TRUE(result.restored_all);
    ASSERT_EQ(result.depth, 3U);
    EXPECT_EQ(out_[2], FrameAddress{ReturnAddress{pc(36)}});
}

TEST_F(WalkRecorded, finds_a_return_address_that_was_popped_into_a_register) {
    // As in vfork: CFA = rsp + 0, the return address in rdi.
    builder_.fde(0, 16, {0x0e, 0, 0x09, 16, 5}).fde(16, 16, {});
    set_pc(0);
    registers_.value[5] = pc(20);
    stack_[0] = pc(21);
    EXPECT_EQ(walk().depth, 3U);
    EXPECT_EQ(out_[1], FrameAddress{ReturnAddress{pc(20)}});
    EXPECT_EQ(out_[2], FrameAddress{ReturnAddress{pc(21)}});
}

TEST_F(WalkRecorded, dereferences_for_a_realigned_frame) {
    // CFA = *(rbp - 8), rbp' = *rbp: gcc's frame for a stack that it has realigned.
    builder_.fde(0, 16, {}).fde(16, 16, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
    builder_.fde(32, 16, {0x0c, 6, 16, 0x86, 2});
    set_pc(0);
    registers_.value[Registers::kBp] = at(8);
    stack_[0] = pc(20);
    stack_[7] = at(16);  // The CFA.
    stack_[8] = at(30);  // The caller's rbp.
    stack_[15] = pc(36);
    stack_[31] = pc(37);
    stack_[30] = 0;
    const WalkResult result = walk();
    EXPECT_EQ(result.depth, 4U);
    EXPECT_EQ(out_[2], FrameAddress{ReturnAddress{pc(36)}});
    EXPECT_EQ(out_[3], FrameAddress{ReturnAddress{pc(37)}});
}

TEST_F(WalkRecorded, evaluates_an_expression_that_no_row_holds) {
    // CFA = *(rsp + 8 * r9) + 8, as in OpenSSL's multiplication.
    builder_.fde(0, 16, {0x0f, 10, 0x77, 0, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8});
    set_pc(0);
    registers_.value[9] = 3;
    stack_[3] = at(9);
    stack_[9] = pc(4);
    registers_.value[Registers::kSp] = kStack;
    const WalkResult result = walk();
    EXPECT_EQ(out_[1], FrameAddress{ReturnAddress{pc(4)}});
    EXPECT_EQ(result.depth, 2U);
    EXPECT_EQ(result.reason, StopReason::unreadable_memory)
        << "r9 is kept, and leads off the stack";
}

TEST_F(WalkRecorded, crosses_a_bounded_number_of_signal_frames) {
    // The trampoline's registers lead to itself.
    builder_.augmentation = "zRS";
    builder_.fde(0, 16, {0x0f, 4, 0x77, 0xa0, 0x01, 0x06});
    set_pc(4);
    for (std::uint64_t i = 0; i < stack_.size(); ++i) {
        stack_[i] = i % 2 == 0 ? kStack : pc(4);
    }
    stack_[(40 + 15 * 8) / 8] = kStack;
    stack_[(40 + 16 * 8) / 8] = pc(4);
    const WalkResult result = walk();
    EXPECT_EQ(result.reason, StopReason::no_progress);
    EXPECT_EQ(result.depth, kMaxSignalFrames + 1);
    EXPECT_TRUE(out_[1].is_exact());
}

TEST_F(WalkRecorded, refuses_corrupt_tables) {
    builder_.fde(0, 16, {0x0b});
    set_pc(0);
    EXPECT_EQ(walk().reason, StopReason::unsupported_rule);
    EXPECT_EQ(walk().depth, 1U);
}

}  // namespace
}  // namespace sample::unwind

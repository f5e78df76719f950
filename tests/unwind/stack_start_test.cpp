// Where stacks begin that a program made: at an address that it wrote, and that no call left.
#include "tests/unwind/walk_fixture.h"

#include <gtest/gtest.h>

// Functions with rules but for the last; nothing here runs.
asm(R"(
    .text
    .p2align 4
start_test_leaf:
    .cfi_startproc
    nop
    call start_test_leaf
    .cfi_endproc
start_test_behind_call:
    .cfi_startproc
    nop
    ret
    .cfi_endproc
start_test_behind_rules:
    .cfi_startproc
    nop
    nop
    nop
    ret
    .cfi_endproc
    .p2align 4
    .nops 16
start_test_behind_padding:
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    .p2align 4
    call start_test_leaf
start_test_called:
    push %rbp
    jmp *%rbx
start_test_jumped:
    ud2
    .p2align 4
)");

extern "C" {
void start_test_leaf();
void start_test_behind_call();
void start_test_behind_rules();
void start_test_behind_padding();
void start_test_called();
void start_test_jumped();
}

namespace sample::unwind::testing {
namespace {

constexpr std::uint64_t kStack = 0x7ffc00001000;

std::uint64_t address_of(void (*code)()) {
    return reinterpret_cast<std::uint64_t>(code);
}

/// Walks from the leaf, whose return address is the first word of the stack.
class StackStart : public ::testing::Test {
protected:
    Walked walk(std::uint64_t leaf = address_of(start_test_leaf)) {
        Registers registers{};
        registers.value[Registers::kPc] = leaf;
        registers.value[Registers::kSp] = kStack;
        registers.value[Registers::kBp] = kStack + 8 * kRecord;
        return tables_.walk(registers,
                            StackMemory::recorded(kStack, std::as_bytes(std::span{stack_})));
    }
    void expect_start(std::uint64_t address) {
        stack_[0] = address;
        const Walked walked = walk();
        EXPECT_EQ(walked.result.reason, StopReason::root);
        EXPECT_EQ(walked.result.guessed, 0U);
        ASSERT_EQ(walked.frames.size(), 2U);
        EXPECT_EQ(walked.frames[1], FrameAddress{Pc{address}});
    }

    static constexpr std::size_t kRecord = 4;  ///< The word that rbp points to.
    /// Filled with what would be taken for callers.
    std::array<std::uint64_t, 16> stack_ = [] {
        std::array<std::uint64_t, 16> words{};
        words.fill(address_of(start_test_behind_call));
        return words;
    }();

private:
    Tables tables_;
};

TEST_F(StackStart, is_the_first_byte_of_a_function_behind_padding) {
    expect_start(address_of(start_test_behind_padding));
}

TEST_F(StackStart, is_the_first_byte_of_a_function_right_behind_another) {
    expect_start(address_of(start_test_behind_rules));
}

TEST_F(StackStart, is_the_second_byte_of_a_function) {
    expect_start(address_of(start_test_behind_rules) + 1);
}

TEST_F(StackStart, changes_nothing_of_a_leaf_at_the_byte_before_it) {
    const std::uint64_t last_byte = address_of(start_test_behind_rules) - 1;
    const auto expect_leaf = [&] {
        stack_[0] = address_of(start_test_called);
        const Walked walked = walk(last_byte);
        ASSERT_GT(walked.frames.size(), 1U);
        EXPECT_EQ(walked.frames[0], FrameAddress{Pc{last_byte}});
        EXPECT_EQ(walked.frames[1], FrameAddress{ReturnAddress{stack_[0]}});
    };
    expect_start(last_byte + 1);
    expect_leaf();
    expect_start(last_byte + 1);  // Nor the other way round.
}

TEST_F(StackStart, is_code_without_rules_that_no_call_precedes) {
    expect_start(address_of(start_test_jumped));
}

TEST_F(StackStart, is_not_the_function_behind_a_call_that_never_returns) {
    stack_[0] = address_of(start_test_behind_call);
    stack_[1] = address_of(start_test_behind_rules);
    const Walked walked = walk();
    EXPECT_EQ(walked.result.reason, StopReason::root);
    ASSERT_EQ(walked.frames.size(), 3U);
    EXPECT_EQ(walked.frames[1], FrameAddress{ReturnAddress{stack_[0]}});
    EXPECT_EQ(walked.frames[2], FrameAddress{Pc{stack_[1]}});
}

TEST_F(StackStart, is_guessed_by_a_frame_pointer_of_zero) {
    stack_[0] = address_of(start_test_called);
    stack_[kRecord] = 0;
    stack_[kRecord + 1] = address_of(start_test_behind_rules) + 1;
    const Walked walked = walk();
    EXPECT_EQ(walked.result.reason, StopReason::root);
    EXPECT_EQ(walked.result.guessed, 1U);
    ASSERT_EQ(walked.frames.size(), 3U);
    EXPECT_EQ(walked.frames[2], FrameAddress::guessed(ReturnAddress{stack_[kRecord + 1]}));
}

}  // namespace
}  // namespace sample::unwind::testing

// Walks over hand-made aarch64 stacks with hand-made tables, on whatever machine the tests run.
#include "tests/unwind/aarch64_world.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sample::unwind {
namespace {

using cfi::RowKind;
using testing::Arch;
using testing::Bytes;
using testing::CfiBuilder;
using testing::Numbers;

using Frames = std::vector<FrameAddress>;

constexpr std::uint64_t kSignature = 0xab25'0000'0000'0000;

// DWARF instructions that compilers write for aarch64.
constexpr std::uint8_t kAdvance = 0x40;
constexpr std::uint8_t kOffsetFp = 0x80 + 29;
constexpr std::uint8_t kOffsetLr = 0x80 + 30;
constexpr std::uint8_t kRestoreFp = 0xc0 + 29;
constexpr std::uint8_t kRestoreLr = 0xc0 + 30;
constexpr std::uint8_t kDefCfaOffset = 0x0e;
constexpr std::uint8_t kNegateRaState = 0x2d;
Bytes undefined_lr() {
    return {0x07, 30};
}

class WalkAarch64 : public ::testing::Test, public testing::Aarch64World {
protected:
    /// Code from 0x100 on is the outermost function.
    void with_root() { builder.fde(0x100, 0x100, undefined_lr()); }
};

TEST_F(WalkAarch64, finds_a_leafs_caller_in_the_link_register) {
    builder.fde(0, 0x40, {});
    with_root();
    set(Numbers::kPc, pc(8));
    set(Numbers::kReturn, pc(0x110));
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x110)}));
    EXPECT_EQ(walk().reason, StopReason::root);
}

TEST_F(WalkAarch64, finds_the_link_register_under_a_leafs_own_frame) {
    builder.fde(0, 0x40, {kDefCfaOffset, 0x20});
    builder.fde(0x40, 0x40, {kDefCfaOffset, 0x10, kOffsetFp, 2, kOffsetLr, 1});
    with_root();
    set(Numbers::kPc, pc(8));
    set(Numbers::kReturn, pc(0x50));
    stack[5] = pc(0x120);  // 0x20 bytes of the leaf, then the caller's record.
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x50), caller(0x120)}));
}

TEST_F(WalkAarch64, knows_each_instruction_of_a_function_with_a_frame_record) {
    // stp x29, x30, [sp, #-32]!; mov x29, sp; …; ldp x29, x30, [sp], #32; ret
    builder.fde(0, 0x40,
                {kAdvance | 1, kDefCfaOffset, 32, kOffsetFp, 4, kOffsetLr, 3, kAdvance | 9,
                 kRestoreLr, kRestoreFp, kDefCfaOffset, 0});
    builder.fde(0x40, 0x40, {0x0c, 29, 16, kOffsetFp, 2, kOffsetLr, 1});  // CFA = x29 + 16
    with_root();
    const std::uint64_t caller_fp = at(20);
    stack[0] = caller_fp;
    stack[1] = pc(0x50);
    stack[20] = at(40);
    stack[21] = pc(0x120);
    for (std::uint64_t offset = 0; offset < 0x40; offset += 4) {
        const bool in_frame = offset >= 4 && offset < 40;
        set(Numbers::kPc, pc(offset));
        set(Numbers::kSp, in_frame ? kStack : at(4));
        set(Numbers::kBp, in_frame ? kStack : caller_fp);
        set(Numbers::kReturn, in_frame ? 0xdead : pc(0x50));
        EXPECT_EQ(frames(), (Frames{leaf(offset), caller(0x50), caller(0x120)})) << offset;
    }
}

TEST_F(WalkAarch64, finds_the_cfa_by_the_frame_pointer_where_sp_is_anywhere) {
    builder.fde(0, 0x40, {0x0c, 29, 0x30, kOffsetFp, 6, kOffsetLr, 5});
    with_root();
    set(Numbers::kPc, pc(8));
    set(Numbers::kBp, at(10));
    stack[10] = 0;
    stack[11] = pc(0x104);
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x104)}));
    set(Numbers::kSp, at(9));
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x104)}));
    set(Numbers::kSp, at(17));  // Above the frame: not a frame of this function.
    EXPECT_EQ(walk().reason, StopReason::no_progress);
}

TEST_F(WalkAarch64, keeps_a_large_frame_in_a_row) {
    // def_cfa_offset 40032; the record at the frame's bottom: x29 at CFA - 40032.
    const Bytes program{kDefCfaOffset, 0xe0, 0xb8,      0x02, kOffsetFp,
                        0x8c,          0x27, kOffsetLr, 0x8b, 0x27};
    builder.fde(0, 0x40, program);
    cfi::BasicFrameRules<Arch> found;
    ASSERT_EQ(cfi::find_rules(builder.tables(), pc(0), found), cfi::Found::yes);
    const cfi::Row row = cfi::pack_rules(found, pc(0));
    EXPECT_EQ(row.kind(), RowKind::cfa_sp);
    EXPECT_EQ(row.offset(), 40032U);
    EXPECT_EQ(cfi::bp_slot<Arch>(row, 40032), 0U);
    EXPECT_EQ(40032 + cfi::return_offset<Arch>(row), 8U);
}

TEST_F(WalkAarch64, cuts_signatures_off) {
    builder.augmentation = "zRB";  // Signed by key B.
    builder.fde(0, 0x40, {kAdvance | 1, kNegateRaState});
    builder.fde(0x40, 0x40, {kNegateRaState, kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});
    with_root();
    set(Numbers::kPc, pc(8));
    set(Numbers::kReturn, pc(0x50) | kSignature);
    stack[1] = pc(0x120) | kSignature;
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x50), caller(0x120)}));
    EXPECT_EQ(walk().reason, StopReason::root);
}

TEST_F(WalkAarch64, crosses_a_signal_frame_by_its_code) {
    stub_words = {0xd503201f, 0xd2801168, 0xd4000001};  // nop; mov x8, #139; svc #0
    builder.fde(0, 0x40, {kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});  // The handler.
    builder.fde(0x40, 0x40, {});                                            // A leaf.
    with_root();
    stack[1] = kStubs + 4;
    const std::size_t context = 2 + Arch::kSigcontextOffset / 8;
    stack[context + 30] = pc(0x120);
    stack[context + 31] = at(600);
    stack[context + 32] = pc(0x44);
    const Frames outer{FrameAddress{Pc{kStubs + 4}}, leaf(0x44), caller(0x120)};
    set(Numbers::kPc, pc(8));
    EXPECT_EQ(frames(), (Frames{leaf(8), outer[0], outer[1], outer[2]}));
    set(Numbers::kSp, at(2));
    set(Numbers::kPc, kStubs + 4);
    EXPECT_EQ(frames(), outer);
    set(Numbers::kPc, kStubs + 8);
    EXPECT_EQ(frames(), (Frames{FrameAddress{Pc{kStubs + 8}}, outer[1], outer[2]}));
}

TEST_F(WalkAarch64, tells_a_trampoline_from_the_function_before_it) {
    builder.fde(0, 0x40, {kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});  // The handler.
    builder.fde(0x40, 0x40, {kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});
    with_root();
    code(0x80, 0xd2801168);
    code(0x84, 0xd4000001);
    stack[1] = pc(0x80);
    const std::size_t context = 2 + Arch::kSigcontextOffset / 8;
    stack[context + 31] = at(600);
    stack[context + 32] = pc(0x124);
    set(Numbers::kPc, pc(8));
    EXPECT_EQ(frames(), (Frames{leaf(8), leaf(0x80), leaf(0x124)}));
}

TEST_F(WalkAarch64, knows_a_plt_by_its_code) {
    stub_words = {
        0xa9bf7bf0, 0x90000090, 0xf9400611, 0x91002210, 0xd61f0220, 0xd503201f,  // the header
        0x90000090, 0xf9400a11, 0x91004210, 0xd61f0220,                          // an entry
        0xd503245f, 0x90000090, 0xf9400a11, 0x91004210, 0xd61f0220, 0x0};        // one with bti c
    with_root();
    set(Numbers::kReturn, pc(0x120));
    const auto frames_at = [this](std::uint64_t word) {
        set(Numbers::kPc, kStubs + 4 * word);
        return frames();
    };
    for (const std::uint64_t word : {0U, 6U, 7U, 8U, 9U, 10U, 11U, 12U, 13U, 14U}) {
        EXPECT_EQ(frames_at(word), (Frames{FrameAddress{Pc{kStubs + 4 * word}}, caller(0x120)}))
            << word;
    }
    set(Numbers::kReturn, 0xdead);
    stack[1] = pc(0x124);
    for (const std::uint64_t word : {1U, 2U, 3U, 4U}) {
        EXPECT_EQ(frames_at(word), (Frames{FrameAddress{Pc{kStubs + 4 * word}}, caller(0x124)}))
            << word;
    }
    EXPECT_EQ(frames_at(15).size(), 1U);
    EXPECT_EQ(walk().reason, StopReason::no_cfi);
}

TEST_F(WalkAarch64, restores_a_return_address_from_another_register) {
    builder.fde(0, 0x40, {0x09, 30, 9});  // x30 is in x9.
    with_root();
    set(Numbers::kPc, pc(8));
    set(9, pc(0x120));
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x120)}));
}

TEST_F(WalkAarch64, uses_a_link_register_once) {
    builder.fde(0, 0x40, {});
    set(Numbers::kPc, pc(8));
    set(Numbers::kReturn, pc(0x10));
    EXPECT_EQ(frames(), (Frames{leaf(8), caller(0x10)}));
    EXPECT_EQ(walk().reason, StopReason::unsupported_rule);
}

TEST_F(WalkAarch64, stops_at_a_zero_return_address) {
    builder.fde(0, 0x40, {kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});
    set(Numbers::kPc, pc(8));
    EXPECT_EQ(walk().reason, StopReason::root);
    EXPECT_EQ(walk().depth, 1U);
    stack[1] = kSignature;  // A signed zero is one.
    EXPECT_EQ(walk().reason, StopReason::root);
}

TEST_F(WalkAarch64, refuses_the_tables_of_x86_64) {
    CfiBuilder foreign;
    foreign.fde(0, 16, {});
    cfi::BasicFrameRules<Arch> found;
    EXPECT_EQ(cfi::find_rules(foreign.tables(), foreign.pc(0), found), cfi::Found::unsupported);
}

#ifdef __x86_64__
TEST_F(WalkAarch64, leaves_its_tables_and_instructions_to_itself) {
    builder.fde(0, 16, {});
    cfi::FrameRules found;
    EXPECT_EQ(cfi::find_rules(builder.tables(), pc(0), found), cfi::Found::unsupported);
    CfiBuilder native;
    native.fde(0, 16, {kNegateRaState});
    EXPECT_EQ(cfi::find_rules(native.tables(), native.pc(0), found), cfi::Found::corrupt);
}
#endif

TEST_F(WalkAarch64, guesses_the_caller_of_a_leaf_without_rules) {
    builder.fde(0x40, 0x40, {kDefCfaOffset, 32, kOffsetFp, 4, kOffsetLr, 3});
    with_root();
    code(0x4c, 0xd63f0020);  // blr x1
    set(Numbers::kPc, pc(0x800));
    set(Numbers::kReturn, pc(0x50));
    set(Numbers::kSp, kStack);  // The leaf has moved it by an unknown amount.
    set(Numbers::kBp, at(12));  // The caller's record, which says where its frame is.
    stack[12] = 0;
    stack[13] = pc(0x120);
    const Frames expected{leaf(0x800), FrameAddress::guessed(ReturnAddress{pc(0x50)}),
                          caller(0x120)};
    EXPECT_EQ(frames(), expected);
    code(0x4c, 0xd503201f);  // No call: then nothing speaks for x30.
    EXPECT_NE(frames(), expected);
}

TEST_F(WalkAarch64, guesses_by_a_leafs_record_once_it_has_one) {
    builder.fde(0x40, 0x40, {kDefCfaOffset, 32, kOffsetFp, 4, kOffsetLr, 3});
    with_root();
    code(0x4c, 0xd63f0020);  // blr x1
    set(Numbers::kPc, pc(0x800));
    set(Numbers::kReturn, pc(0x50));
    set(Numbers::kBp, at(2));
    stack[2] = at(12);
    stack[3] = pc(0x50);
    stack[13] = pc(0x120);
    EXPECT_EQ(frames(),
              (Frames{leaf(0x800), FrameAddress::guessed(ReturnAddress{pc(0x50)}), caller(0x120)}));
}

TEST_F(WalkAarch64, guesses_by_frame_records) {
    builder.fde(0x40, 0x40, {kDefCfaOffset, 48, kOffsetFp, 6, kOffsetLr, 5});
    with_root();
    code(0x4c, 0x94000123);  // bl
    set(Numbers::kPc, pc(0x800));
    set(Numbers::kReturn, pc(0x810));  // Left by a call that is over.
    set(Numbers::kBp, at(4));
    stack[4] = at(10);
    stack[5] = pc(0x50) | kSignature;
    stack[10] = 0;
    stack[11] = pc(0x120);
    EXPECT_EQ(frames(),
              (Frames{leaf(0x800), FrameAddress::guessed(ReturnAddress{pc(0x50)}), caller(0x120)}));
    stack[4] = at(3);  // Not up the stack.
    EXPECT_EQ(walk().reason, StopReason::no_cfi);
}

/// A stack of functions of four kinds, which grows and shrinks at its leaf's end.
class MemoAarch64 : public WalkAarch64 {
protected:
    static constexpr std::uint64_t kKinds = 4;

    MemoAarch64() {
        builder.fde(0, 0x40, {kDefCfaOffset, 16, kOffsetFp, 2, kOffsetLr, 1});
        builder.fde(0x40, 0x40, {kDefCfaOffset, 16, kOffsetLr, 2});  // Saves x30 alone.
        builder.fde(0x80, 0x40, {0x0c, 29, 32, kOffsetFp, 4, kOffsetLr, 3});
        builder.fde(0xc0, 0x40, {kNegateRaState, kDefCfaOffset, 48, kOffsetFp, 2, kOffsetLr, 1});
        with_root();
        builder.fde(0x200, 0x40, {});  // A leaf.
    }

    /// Lays the frames out from the root down. `kinds`: root's callee first.
    void lay_out(const std::vector<std::uint64_t>& kinds) {
        static constexpr std::array<std::uint64_t, kKinds> kWords{2, 2, 4, 6};
        static constexpr std::array<std::uint64_t, kKinds> kFpAt{2, 0, 4, 2};  // Words below CFA.
        static constexpr std::array<std::uint64_t, kKinds> kLrAt{1, 2, 3, 1};
        std::uint64_t word = stack.size() - 8;
        std::uint64_t fp = 0;
        std::uint64_t return_address = pc(0x120);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const std::uint64_t kind = kinds[i];
            const std::uint64_t signature = kind == 3 ? (i + 1) << 50 : 0;
            stack[word - kLrAt[kind]] = return_address | signature;
            if (kFpAt[kind] != 0) {
                stack[word - kFpAt[kind]] = fp;
                fp = at(word - kFpAt[kind]);
            }
            word -= kWords[kind];
            return_address = pc(0x40 * kind + 0x10 + 4 * (i % 4));
        }
        set(Numbers::kSp, at(word));
        set(Numbers::kBp, fp);
        set(Numbers::kReturn, return_address);
        set(Numbers::kPc, pc(0x210));
    }

    /// How many frames were taken over; the stack is the same as without the memo.
    std::uint32_t compare() {
        const Frames plain = frames();
        EXPECT_EQ(walk(memo_.get()).depth, plain.size());
        const auto root_first = memo_->root_first();
        EXPECT_EQ(Frames(root_first.rbegin(), root_first.rend()), plain);
        return memo_->joined();
    }

    std::unique_ptr<StackMemo> memo_ = std::make_unique<StackMemo>();
};

TEST_F(MemoAarch64, takes_over_what_has_not_changed) {
    std::vector<std::uint64_t> kinds;
    for (std::uint64_t i = 0; i < 100; ++i) {
        kinds.push_back(i % kKinds);
    }
    lay_out(kinds);
    EXPECT_EQ(compare(), 0U);
    EXPECT_EQ(memo_->depth(), 102U);
    EXPECT_EQ(compare(), 101U);
    kinds.resize(60);
    lay_out(kinds);
    EXPECT_EQ(compare(), 61U);
}

TEST_F(MemoAarch64, equals_the_plain_walk_after_any_change) {
    std::uint64_t random = 1;
    const auto next = [&random](std::uint64_t below) {
        random = random * 6364136223846793005 + 1442695040888963407;
        return (random >> 33) % below;
    };
    std::vector<std::uint64_t> kinds(50);
    std::uint64_t joined = 0;
    for (int round = 0; round < 2000; ++round) {
        kinds.resize(kinds.size() - next(kinds.size() / 4 + 1));
        while (kinds.size() < 20 || (kinds.size() < 120 && next(4) != 0)) {
            kinds.push_back(next(kKinds));
        }
        if (next(8) == 0) {
            kinds[next(kinds.size())] = next(kKinds);
        }
        lay_out(kinds);
        if (next(4) == 0) {
            // One saved word is another: a signature, or anything.
            const std::uint64_t word = stack.size() - 8 - next(100);
            stack[word] = next(2) == 0 ? stack[word] ^ kSignature : at(next(stack.size()));
        }
        joined += compare();
        if (HasFailure()) {
            FAIL() << "round " << round;
        }
    }
    EXPECT_GT(joined, 10'000U);
}

}  // namespace
}  // namespace sample::unwind

// The parts of unwind_truth that its verdicts stand on: what an instruction is, which frames there
// are, and whether a walk has them.
#include "tests/unwind/truth/instruction.h"
#include "tests/unwind/truth/shadow_stack.h"
#include "tests/unwind/truth/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <vector>

namespace sample::unwind::truth {
namespace {

Instruction kind_of(std::initializer_list<unsigned> bytes) {
    std::vector<std::byte> code;
    std::transform(bytes.begin(), bytes.end(), std::back_inserter(code),
                   [](unsigned byte) { return static_cast<std::byte>(byte); });
    return classify(code);
}

TEST(Instruction, is_told_behind_prefixes) {
    EXPECT_EQ(kind_of({0xe8, 1, 2, 3, 4}), Instruction::call);
    EXPECT_EQ(kind_of({0xff, 0xd0}), Instruction::call);                             // call *%rax
    EXPECT_EQ(kind_of({0x41, 0xff, 0x14, 0x24}), Instruction::call);                 // call *(%r12)
    EXPECT_EQ(kind_of({0x67, 0xe8, 1, 2, 3, 4}), Instruction::call);                 // addr32 call
    EXPECT_EQ(kind_of({0xf2, 0xff, 0x25, 1, 2, 3, 4}), Instruction::indirect_jump);  // bnd jmp
    EXPECT_EQ(kind_of({0x3e, 0xff, 0xe0}), Instruction::indirect_jump);  // notrack jmp *%rax
    EXPECT_EQ(kind_of({0xc3}), Instruction::ret);
    EXPECT_EQ(kind_of({0xf3, 0xc3}), Instruction::ret);  // rep ret
    EXPECT_EQ(kind_of({0xc2, 8, 0}), Instruction::ret);
    EXPECT_EQ(kind_of({0x0f, 0x05}), Instruction::syscall);
    EXPECT_EQ(kind_of({0x48, 0xcf}), Instruction::far_transfer);       // iretq
    EXPECT_EQ(kind_of({0xff, 0x74, 0x24, 8}), Instruction::other);     // push 8(%rsp)
    EXPECT_EQ(kind_of({0xff, 0xc0}), Instruction::other);              // inc %eax
    EXPECT_EQ(kind_of({0xf3, 0x0f, 0x1e, 0xfa}), Instruction::other);  // endbr64
    EXPECT_EQ(kind_of({0xeb, 0xe8}), Instruction::other);              // jmp
    EXPECT_EQ(kind_of({}), Instruction::other);
}

constexpr AddressRange kStack{0x10000, 0x20000};
constexpr AddressRange kOther{0x40000, 0x50000};

/// A thread whose transitions a test names one by one.
class ShadowStackTest : public ::testing::Test {
protected:
    Result<void> go(Instruction instruction, std::uint64_t pc, std::uint64_t sp,
                    const AddressRange& stack = kStack) {
        Transition transition;
        transition.before = now_;
        transition.after = {pc, sp, stack};
        transition.instruction = instruction;
        transition.top_is_code = words_.contains(sp);
        now_ = transition.after;
        return shadow_.advance(transition);
    }
    void call(std::uint64_t callee, std::uint64_t return_address) {
        words_[now_.sp - 8] = return_address;
        EXPECT_TRUE(go(Instruction::call, callee, now_.sp - 8, now_.stack));
    }
    [[nodiscard]] std::vector<std::uint64_t> frames() const {
        const auto frames = shadow_.frames(now_, reader());
        std::vector<std::uint64_t> addresses;
        if (frames) {
            std::transform(frames->begin(), frames->end(), std::back_inserter(addresses), address);
        }
        return addresses;
    }
    [[nodiscard]] std::vector<std::uint64_t> resumed() const {
        const auto frames = shadow_.resumed_frames(now_, reader());
        std::vector<std::uint64_t> addresses;
        if (frames) {
            std::transform(frames->begin(), frames->end(), std::back_inserter(addresses), address);
        }
        return addresses;
    }

    Standing now_{1, 0x1ff00, kStack};
    std::map<std::uint64_t, std::uint64_t> words_;
    ShadowStack shadow_{kStack};

private:
    static std::uint64_t address(const Frame& frame) { return frame.address; }
    [[nodiscard]] ShadowStack::Reader reader() const {
        return [this](std::uint64_t place, std::uint64_t& value) {
            const auto word = words_.find(place);
            value = word == words_.end() ? 0 : word->second;
            return word != words_.end();
        };
    }
};

using Addresses = std::vector<std::uint64_t>;

TEST_F(ShadowStackTest, follows_calls_tail_jumps_and_returns) {
    EXPECT_EQ(frames(), Addresses{1});
    call(100, 2);
    ASSERT_TRUE(go(Instruction::other, 101, now_.sp - 24));
    call(200, 102);
    ASSERT_TRUE(go(Instruction::indirect_jump, 300, now_.sp));
    EXPECT_EQ(frames(), (Addresses{300, 102, 2}));
    ASSERT_TRUE(go(Instruction::ret, 102, now_.sp + 8));
    EXPECT_EQ(frames(), (Addresses{102, 2}));
    EXPECT_FALSE(shadow_.awaiting());
    EXPECT_EQ(shadow_.counts().deepest, 2U);
}

TEST_F(ShadowStackTest, follows_a_return_address_that_was_rewritten) {
    call(100, 2);
    words_[now_.sp] = 77;
    EXPECT_EQ(frames(), (Addresses{100, 77}));
}

TEST_F(ShadowStackTest, refuses_a_return_that_skips_a_call) {
    call(100, 2);
    call(200, 102);
    EXPECT_FALSE(go(Instruction::ret, 2, now_.sp + 16));
}

TEST_F(ShadowStackTest, notes_a_return_without_a_call) {
    call(100, 2);
    ASSERT_TRUE(go(Instruction::other, 101, now_.sp - 8));
    ASSERT_TRUE(go(Instruction::ret, 500, now_.sp + 8));
    EXPECT_TRUE(shadow_.returned_without_call());
    EXPECT_EQ(frames(), (Addresses{500, 2}));
}

TEST_F(ShadowStackTest, awaits_the_frame_that_a_long_jump_resumes) {
    call(100, 2);
    const std::uint64_t resumed_sp = now_.sp;
    call(200, 102);
    call(300, 202);
    ASSERT_TRUE(go(Instruction::other, 301, resumed_sp));
    EXPECT_TRUE(shadow_.awaiting());
    EXPECT_EQ(frames(), Addresses{301});
    ASSERT_TRUE(go(Instruction::indirect_jump, 103, resumed_sp));
    EXPECT_EQ(shadow_.told(), 103U);
    EXPECT_EQ(resumed(), Addresses{2});
    EXPECT_EQ(frames(), (Addresses{103, 2}));
}

TEST_F(ShadowStackTest, keeps_the_frames_of_a_stack_that_is_left) {
    call(100, 2);
    const std::uint64_t left_sp = now_.sp;
    ASSERT_TRUE(go(Instruction::other, 101, 0x4ff00, kOther));
    ASSERT_TRUE(go(Instruction::ret, 900, 0x4ff08, kOther));
    EXPECT_EQ(frames(), Addresses{900});
    call(950, 901);
    EXPECT_EQ(frames(), (Addresses{950, 901}));
    ASSERT_TRUE(go(Instruction::other, 951, left_sp));
    EXPECT_FALSE(shadow_.awaiting());
    EXPECT_EQ(frames(), (Addresses{951, 2}));
}

TEST_F(ShadowStackTest, crosses_a_signal_to_the_stack_that_it_interrupted) {
    call(100, 2);
    Transition signal;
    signal.before = now_;
    signal.after = {700, 0x4f000, kOther};
    signal.signal_delivered = true;
    words_[0x4f000] = 800;
    words_[0x4f000 + 176] = 100;
    ASSERT_TRUE(shadow_.advance(signal));
    const Standing interrupted = now_;
    now_ = signal.after;
    EXPECT_EQ(frames(), (Addresses{700, 800, 100, 2}));
    EXPECT_EQ(shadow_.needed(now_).size(), 2U);
    ASSERT_TRUE(go(Instruction::ret, 800, 0x4f008, kOther));
    EXPECT_EQ(frames(), (Addresses{800, 100, 2}));
    Transition back;
    back.before = now_;
    back.after = interrupted;
    back.instruction = Instruction::syscall;
    back.syscall_number = 15;
    ASSERT_TRUE(shadow_.advance(back));
    now_ = interrupted;
    EXPECT_EQ(frames(), (Addresses{100, 2}));
    EXPECT_FALSE(shadow_.advance(back)) << "there is no second signal to return from";
}

FrameAddress exact(std::uint64_t pc) {
    return FrameAddress{Pc{pc}};
}
FrameAddress called(std::uint64_t address) {
    return FrameAddress{ReturnAddress{address}};
}

Verdict::Kind kind_of(const std::vector<FrameAddress>& walked, StopReason reason) {
    const std::vector<Frame> truth{{1, Frame::Kind::exact},
                                   {2, Frame::Kind::return_address},
                                   {3, Frame::Kind::return_address}};
    return judge(truth, walked, reason).kind;
}

TEST(Verdict, tells_wrong_from_incomplete) {
    using Kind = Verdict::Kind;
    EXPECT_EQ(kind_of({exact(1), called(2), called(3)}, StopReason::root), Kind::equal);
    EXPECT_EQ(kind_of({exact(1), called(2), called(3)}, StopReason::no_cfi), Kind::incomplete);
    EXPECT_EQ(kind_of({exact(1), called(2)}, StopReason::no_cfi), Kind::incomplete);
    EXPECT_EQ(kind_of({exact(1), called(2)}, StopReason::root), Kind::wrong_root);
    EXPECT_EQ(kind_of({exact(1), called(9)}, StopReason::no_cfi), Kind::wrong_frame);
    EXPECT_EQ(kind_of({exact(1), called(3)}, StopReason::root), Kind::wrong_frame);
    EXPECT_EQ(kind_of({exact(1), exact(2), called(3)}, StopReason::root), Kind::wrong_frame);
    EXPECT_EQ(kind_of({exact(1), called(2), called(3), called(4)}, StopReason::root),
              Kind::wrong_beyond);
    EXPECT_EQ(kind_of({}, StopReason::depth_limit), Kind::incomplete);
}

TEST(Verdict, tells_a_wrong_guess_from_a_wrong_rule) {
    using Kind = Verdict::Kind;
    const auto guess = [](std::uint64_t address) {
        return FrameAddress::guessed(ReturnAddress{address});
    };
    EXPECT_EQ(kind_of({exact(1), guess(2), called(3)}, StopReason::root), Kind::equal);
    EXPECT_EQ(kind_of({exact(1), guess(3)}, StopReason::root), Kind::misguessed);
    EXPECT_EQ(kind_of({exact(1), guess(2), called(9)}, StopReason::root), Kind::misguessed);
    EXPECT_EQ(kind_of({exact(1), guess(2)}, StopReason::root), Kind::misguessed);
    EXPECT_EQ(kind_of({exact(1), called(9), guess(3)}, StopReason::root), Kind::wrong_frame);
    EXPECT_EQ(kind_of({exact(1), guess(2)}, StopReason::no_cfi), Kind::incomplete);
}

}  // namespace
}  // namespace sample::unwind::truth

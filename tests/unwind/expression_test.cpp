#include "unwind/cfi/expression.h"

#include "tests/unwind/cfi_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace sample::unwind::cfi {
namespace {

using testing::Bytes;
using testing::le;
using testing::operator+;  // NOLINT(misc-unused-using-decls): used below

constexpr std::uint64_t kStack = 0x7000;

class Expression : public ::testing::Test {
protected:
    Expression() {
        registers_.set(Registers::kSp, kStack);
        registers_.set(Registers::kPc, 0x40000b);
        registers_.set(0, 5);
    }

    Evaluated evaluate_block(const Bytes& operations, std::uint64_t& result,
                             const std::uint64_t* initial = nullptr) {
        const Bytes block = Bytes{static_cast<std::uint8_t>(operations.size())} + operations;
        StackMemory memory = StackMemory::recorded(kStack, std::as_bytes(std::span{stack_}));
        return evaluate(reinterpret_cast<std::uint64_t>(block.data()), registers_, memory, initial,
                        result);
    }
    std::optional<std::int64_t> value(const Bytes& operations) {
        std::uint64_t result = 0;
        return evaluate_block(operations, result) == Evaluated::yes
                   ? std::optional{static_cast<std::int64_t>(result)}
                   : std::nullopt;
    }
    Evaluated failure(const Bytes& operations) {
        std::uint64_t result = 0;
        return evaluate_block(operations, result);
    }

    KnownRegisters registers_{};
    std::array<std::uint64_t, 4> stack_{11, 0x8877665544332211, kStack + 8, 0};
};

TEST_F(Expression, pushes_constants_of_every_size) {
    EXPECT_EQ(value({0x30}), 0);
    EXPECT_EQ(value({0x4f}), 31);
    EXPECT_EQ(value({0x08, 200}), 200);
    EXPECT_EQ(value({0x09, 200}), -56);
    EXPECT_EQ(value(Bytes{0x0a} + le<std::uint16_t>(40000)), 40000);
    EXPECT_EQ(value(Bytes{0x0b} + le<std::int16_t>(-3)), -3);
    EXPECT_EQ(value(Bytes{0x0c} + le<std::uint32_t>(4000000000)), 4000000000);
    EXPECT_EQ(value(Bytes{0x0d} + le<std::int32_t>(-4)), -4);
    EXPECT_EQ(value(Bytes{0x0e} + le<std::int64_t>(-5)), -5);
    EXPECT_EQ(value(Bytes{0x0f} + le<std::int64_t>(-6)), -6);
    EXPECT_EQ(value({0x10, 0x80, 0x01}), 128);
    EXPECT_EQ(value({0x11, 0x7f}), -1);
}

TEST_F(Expression, computes) {
    EXPECT_EQ(value({0x37, 0x33, 0x1a}), 3);             // 7 & 3
    EXPECT_EQ(value({0x36, 0x39, 0x21}), 15);            // 6 | 9
    EXPECT_EQ(value({0x37, 0x32, 0x27}), 5);             // 7 ^ 2
    EXPECT_EQ(value({0x37, 0x32, 0x22}), 9);             // 7 + 2
    EXPECT_EQ(value({0x32, 0x37, 0x1c}), -5);            // 2 - 7
    EXPECT_EQ(value({0x37, 0x32, 0x1e}), 14);            // 7 * 2
    EXPECT_EQ(value({0x11, 0x79, 0x32, 0x1b}), -3);      // -7 / 2
    EXPECT_EQ(value({0x37, 0x34, 0x1d}), 3);             // 7 % 4
    EXPECT_EQ(value({0x31, 0x33, 0x24}), 8);             // 1 << 3
    EXPECT_EQ(value({0x11, 0x78, 0x08, 60, 0x25}), 15);  // logical
    EXPECT_EQ(value({0x11, 0x78, 0x31, 0x26}), -4);      // arithmetic
    EXPECT_EQ(value({0x35, 0x1f}), -5);
    EXPECT_EQ(value({0x35, 0x20}), -6);
    EXPECT_EQ(value({0x35, 0x1f, 0x19}), 5);
    EXPECT_EQ(value({0x35, 0x23, 10}), 15);
    // Wrapping where C++ would not: the least integer divided by -1, a shift by all bits.
    EXPECT_EQ(value(Bytes{0x0e} + le(std::int64_t{1} << 62) + Bytes{0x32, 0x1e, 0x11, 0x7f, 0x1b}),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(value({0x31, 0x08, 64, 0x24}), 0);
}

TEST_F(Expression, compares_signed_and_jumps) {
    EXPECT_EQ(value({0x11, 0x7f, 0x31, 0x2d}), 1);  // -1 < 1
    EXPECT_EQ(value({0x11, 0x7f, 0x31, 0x2a}), 0);  // -1 >= 1
    EXPECT_EQ(value({0x31, 0x31, 0x29}), 1);
    EXPECT_EQ(value({0x31, 0x31, 0x2e}), 0);
    EXPECT_EQ(value({0x32, 0x31, 0x2b}), 1);
    EXPECT_EQ(value({0x32, 0x31, 0x2c}), 0);
    EXPECT_EQ(value({0x35, 0x2f, 1, 0, 0x36}), 5);        // skip over lit6
    EXPECT_EQ(value({0x35, 0x31, 0x28, 1, 0, 0x36}), 5);  // taken
    EXPECT_EQ(value({0x35, 0x30, 0x28, 1, 0, 0x36}), 6);  // not taken
}

TEST_F(Expression, shuffles_its_stack) {
    EXPECT_EQ(value({0x35, 0x12, 0x22}), 10);
    EXPECT_EQ(value({0x35, 0x36, 0x13}), 5);
    EXPECT_EQ(value({0x35, 0x36, 0x14}), 5);
    EXPECT_EQ(value({0x35, 0x36, 0x37, 0x15, 2}), 5);
    EXPECT_EQ(value({0x35, 0x36, 0x16, 0x1c}), 1);  // 6 - 5
    EXPECT_EQ(value({0x31, 0x32, 0x33, 0x17}), 2);  // rot: 3 1 2
}

TEST_F(Expression, reads_registers_and_memory) {
    EXPECT_EQ(value({0x70, 0x7f}), 4);  // rax - 1
    EXPECT_EQ(value({0x92, 0, 1}), 6);  // bregx rax + 1
    EXPECT_EQ(value({0x77, 0, 0x06}), 11);
    EXPECT_EQ(value({0x77, 16, 0x06, 0x06}), static_cast<std::int64_t>(0x8877665544332211));
    EXPECT_EQ(value({0x77, 9, 0x94, 1}), 0x22);
    EXPECT_EQ(value({0x77, 12, 0x94, 4}), 0x88776655);
}

TEST_F(Expression, starts_from_the_initial_value) {
    const std::uint64_t cfa = 100;
    std::uint64_t result = 0;
    EXPECT_EQ(evaluate_block({0x38, 0x1c}, result, &cfa), Evaluated::yes);
    EXPECT_EQ(result, 92U);
}

TEST_F(Expression, fails_within_bounds) {
    EXPECT_EQ(failure({0x73, 0}), Evaluated::unknown_register);  // rbx
    EXPECT_EQ(failure({0x77, 32, 0x06}), Evaluated::unreadable);
    EXPECT_EQ(failure({0x77, 0x78, 0x06}), Evaluated::unreadable);
    EXPECT_EQ(failure({}), Evaluated::unsupported);  // nothing on the stack
    EXPECT_EQ(failure({0x22}), Evaluated::unsupported);
    EXPECT_EQ(failure({0x31, 0x15, 200}), Evaluated::unsupported);
    EXPECT_EQ(failure({0x31, 0x30, 0x1b}), Evaluated::unsupported);  // 1 / 0
    EXPECT_EQ(failure({0x0e, 1, 2}), Evaluated::unsupported);        // cut off
    EXPECT_EQ(failure({0x2f, 0xfd, 0xff}), Evaluated::unsupported);  // an endless loop
    EXPECT_EQ(failure({0x2f, 0x00, 0x80}), Evaluated::unsupported);  // a jump outside
    EXPECT_EQ(failure(Bytes(kExpressionStack + 1, 0x31)), Evaluated::unsupported);
    EXPECT_EQ(failure({0x03}), Evaluated::unsupported);  // DW_OP_addr
}

}  // namespace
}  // namespace sample::unwind::cfi

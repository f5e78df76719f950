// The rules of one frame, as its call frame program leaves them at a pc: how to find the CFA, and
// from it the caller's registers.
//
// Only what a walk can need is kept: the callee-saved registers, the stack pointer and the return
// address. Small and trivially copyable, because the program's remember_state stack holds several.
// Async-signal-safe.
#pragma once

#include "unwind/walk/registers.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind::cfi {

enum class RuleKind : std::uint8_t {
    unspecified,     ///< By the psABI: callee-saved registers are unchanged, rsp is the CFA.
    undefined,       ///< The value is lost; for the return address: the outermost frame.
    same,            ///< value' = value
    offset,          ///< value' = *(CFA + payload)
    val_offset,      ///< value' = CFA + payload
    reg,             ///< value' = the register numbered payload
    expression,      ///< value' = *(result of the block at address payload)
    val_expression,  ///< value' = result of the block at address payload
};

/// One register's rule, in one word: three bits of kind and a signed payload.
class Rule {
public:
    Rule() noexcept = default;  // trivial; Rule{} is unspecified
    constexpr Rule(RuleKind kind, std::uint64_t payload) noexcept
        : bits_{payload << 3 | static_cast<std::uint64_t>(kind)} {}

    [[nodiscard]] constexpr RuleKind kind() const noexcept {
        return static_cast<RuleKind>(bits_ & 7);
    }
    /// Sign-extended from 61 bits.
    [[nodiscard]] constexpr std::uint64_t payload() const noexcept {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits_) >> 3);
    }
    [[nodiscard]] constexpr std::int64_t signed_payload() const noexcept {
        return static_cast<std::int64_t>(bits_) >> 3;
    }
    constexpr bool operator==(const Rule&) const = default;

private:
    std::uint64_t bits_;
};

/// CFA = register + offset, or the result of an expression.
struct CfaRule {
    static constexpr std::uint64_t kNone = 0xffff;
    static constexpr std::uint64_t kExpression = 0xfffe;

    std::uint64_t reg;    ///< A DWARF register number, or one of the above.
    std::uint64_t value;  ///< The offset (wrapping), or the address of the expression's block.
    constexpr bool operator==(const CfaRule&) const = default;
};

/// A trivial type: what is not value-initialised is not initialised.
struct Rules {
    /// Slots: rbx, rbp, rsp, r12–r15, return address, and one that swallows every other register.
    static constexpr std::size_t kSlots = 9;
    static constexpr std::size_t kIgnored = 8;
    /// The DWARF number of each slot but the last.
    static constexpr std::array<std::uint8_t, kSlots - 1> kRegisters{3, 6, 7, 12, 13, 14, 15, 16};

    CfaRule cfa;
    std::array<Rule, kSlots> slots;

    /// What holds before a CIE's first instruction.
    [[nodiscard]] static Rules unspecified() noexcept {
        Rules rules{};
        rules.cfa.reg = CfaRule::kNone;
        return rules;
    }

    [[nodiscard]] static constexpr std::size_t slot_of(std::uint64_t reg) noexcept {
        // One nibble a register, 15 first: a table without memory.
        constexpr std::uint64_t kNibbles = 0x6543888821880888;
        if (reg < 16) {
            return (kNibbles >> (4 * reg)) & 0xf;
        }
        return reg == Registers::kPc ? 7 : kIgnored;
    }
    [[nodiscard]] constexpr Rule& of(std::uint64_t reg) noexcept { return slots[slot_of(reg)]; }
    [[nodiscard]] constexpr const Rule& of(std::uint64_t reg) const noexcept {
        return slots[slot_of(reg)];
    }
};

}  // namespace sample::unwind::cfi

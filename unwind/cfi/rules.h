// The rules of one frame, as its call frame program leaves them at a pc: how to find the CFA, and
// from it the caller's registers.
//
// Only what a walk can need is kept: the callee-saved registers, the stack pointer and the return
// address. Small and trivially copyable, because the program's remember_state stack holds several.
// Async-signal-safe.
#pragma once

#include "unwind/cfi/fde.h"
#include "unwind/walk/registers.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind::cfi {

enum class RuleKind : std::uint8_t {
    unspecified,     ///< By the ABI: callee-saved registers are unchanged, sp is the CFA.
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
template <class Arch>
struct BasicRules {
    // Constants all the same, whatever they depend on.
    // NOLINTBEGIN(bugprone-dynamic-static-initializers)
    /// The DWARF number of each slot but the last, which swallows every other register.
    static constexpr auto kRegisters = Arch::kRestored;
    static constexpr std::size_t kSlots = kRegisters.size() + 1;
    // NOLINTEND(bugprone-dynamic-static-initializers)

    CfaRule cfa;
    std::array<Rule, kSlots> slots;

    /// What holds before a CIE's first instruction.
    [[nodiscard]] static BasicRules unspecified() noexcept {
        BasicRules rules{};
        rules.cfa.reg = CfaRule::kNone;
        return rules;
    }

    [[nodiscard]] constexpr Rule& of(std::uint64_t reg) noexcept {
        return slots[Arch::slot_of(reg)];
    }
    [[nodiscard]] constexpr const Rule& of(std::uint64_t reg) const noexcept {
        return slots[Arch::slot_of(reg)];
    }
};
using Rules = BasicRules<arch::Native>;

inline constexpr unsigned kMaxInstructions = 1U << 16;
inline constexpr unsigned kMaxRemembered = 6;  ///< Nested remember_state.

/// The rules of `fde` at `pc`, which lies in it, by running its call frame program. Expressions
/// stay as addresses of their blocks (a uleb length, then the operations), which have been checked
/// to lie inside the program. False if the program is corrupt, uses an unknown instruction or
/// exceeds a bound; `out` is then garbage. Bounded by the above; about 900 bytes of stack, no
/// allocation, no system calls. Source: DWARF 5 section 6.4.2; GNU extensions as in binutils'
/// dwarf2.h.
template <class Arch>
[[nodiscard]] bool run_program(const Fde& fde, std::uint64_t pc, BasicRules<Arch>& out) noexcept;

}  // namespace sample::unwind::cfi

// DWARF expressions: the few shapes that compilers and hand-written assembly use are recognised, so
// that they become rows; the rest is evaluated on a small bounded stack.
//
// No allocation, no recursion, at most kMaxOperations steps. Async-signal-safe.
// Source: DWARF 5 sections 2.5 and 6.4.2; restrictions of call frame expressions in 6.4.2.3.
#pragma once

#include "unwind/walk/registers.h"
#include "unwind/walk/stack_memory.h"

#include <cstdint>
#include <span>

namespace sample::unwind::cfi {

inline constexpr unsigned kMaxOperations = 256;
inline constexpr unsigned kExpressionStack = 16;

/// The registers of a frame of any architecture, by number.
class RegisterView {
public:
    // Implicit: whoever asks for an evaluation has registers of one architecture.
    template <class Arch>
    // NOLINTNEXTLINE(google-explicit-constructor)
    RegisterView(const BasicKnownRegisters<Arch>& registers) noexcept
        : values_{registers.value.value}, known_{registers.known} {}

    [[nodiscard]] bool exists(std::uint64_t reg) const noexcept { return reg < values_.size(); }
    [[nodiscard]] bool knows(std::uint64_t reg) const noexcept {
        return exists(reg) && (known_ >> reg & 1) != 0;
    }
    [[nodiscard]] std::uint64_t operator[](std::uint64_t reg) const noexcept {
        return values_[reg];
    }

private:
    std::span<const std::uint64_t> values_;
    std::uint64_t known_;
};

/// The shapes that a row can hold.
struct ExpressionShape {
    enum class Kind : std::uint8_t {
        other,
        reg_plus,        ///< register + offset
        deref_reg_plus,  ///< *(register + offset) + offset2
        plt,             ///< rsp + 8 + ((rip & 15) >= bound ? 8 : 0), x86-64's lazy PLT's CFA
    };
    Kind kind = Kind::other;
    std::uint64_t reg = 0;
    std::int64_t offset = 0;
    std::int64_t offset2 = 0;
    std::uint64_t bound = 0;
};

/// Recognises the block at `block`, which run_program() has checked against its bounds.
[[nodiscard]] ExpressionShape recognise(std::uint64_t block) noexcept;

enum class Evaluated : std::uint8_t {
    yes,
    unknown_register,  ///< It reads a register whose value is not known here.
    unreadable,        ///< It reads memory outside of the stack.
    unsupported,       ///< An operation that is not allowed or not known here; a bound exceeded.
};

/// Evaluates the block at `block`. `initial`, if not null, is pushed first (the CFA, for rules of
/// registers; nothing for the CFA's own).
[[nodiscard]] Evaluated evaluate(std::uint64_t block, const RegisterView& registers,
                                 StackMemory& memory, const std::uint64_t* initial,
                                 std::uint64_t& result) noexcept;

}  // namespace sample::unwind::cfi

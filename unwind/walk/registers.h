// The registers that a walk starts from, and those that it still knows further out.
// Async-signal-safe.
#pragma once

#include "unwind/arch/native.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind {

/// Registers by DWARF number, whose names are in Arch::Numbers. "bp" is the frame pointer of any
/// architecture.
template <class Arch>
struct BasicRegisters : Arch::Numbers {
    using Numbers = typename Arch::Numbers;

    std::array<std::uint64_t, Numbers::kCount> value;  ///< Not initialised by itself.

    [[nodiscard]] constexpr std::uint64_t pc() const noexcept { return value[Numbers::kPc]; }
    [[nodiscard]] constexpr std::uint64_t sp() const noexcept { return value[Numbers::kSp]; }
    [[nodiscard]] constexpr std::uint64_t bp() const noexcept { return value[Numbers::kBp]; }
};
using Registers = BasicRegisters<arch::Native>;

/// Registers of a frame, of which only some are known: a caller's scratch registers are lost.
template <class Arch>
struct BasicKnownRegisters {
    using Mask = typename Arch::Mask;
    using Registers = BasicRegisters<Arch>;

    // Constants all the same, whatever they depend on.
    // NOLINTBEGIN(bugprone-dynamic-static-initializers)
    static constexpr Mask kAll = (Mask{1} << Registers::kCount) - 1;
    /// What a walk that restores nothing else keeps: bp, sp, pc.
    static constexpr Mask kFrame =
        Mask{1} << Registers::kBp | Mask{1} << Registers::kSp | Mask{1} << Registers::kPc;
    // NOLINTEND(bugprone-dynamic-static-initializers)

    Registers value;
    Mask known = 0;  ///< Bit n: register n.

    [[nodiscard]] constexpr bool knows(std::uint64_t reg) const noexcept {
        return reg < Registers::kCount && (known >> reg & 1) != 0;
    }
    constexpr void set(std::uint64_t reg, std::uint64_t to) noexcept {
        value.value[reg] = to;
        known |= Mask{1} << reg;
    }
    constexpr void forget(std::uint64_t reg) noexcept { known &= ~(Mask{1} << reg); }
};
using KnownRegisters = BasicKnownRegisters<arch::Native>;

}  // namespace sample::unwind

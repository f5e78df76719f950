// The registers that a walk starts from, and those that it still knows further out.
// Async-signal-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind {

/// x86-64 general registers by DWARF number (psABI table 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi,
/// 5 rdi, 6 rbp, 7 rsp, 8–15 r8–r15, 16 the pc.
struct Registers {
    static constexpr std::size_t kBx = 3;
    static constexpr std::size_t kBp = 6;
    static constexpr std::size_t kSp = 7;
    static constexpr std::size_t kPc = 16;
    static constexpr std::size_t kCount = 17;

    std::array<std::uint64_t, kCount> value;  ///< Not initialised by itself.

    [[nodiscard]] constexpr std::uint64_t pc() const noexcept { return value[kPc]; }
    [[nodiscard]] constexpr std::uint64_t sp() const noexcept { return value[kSp]; }
    [[nodiscard]] constexpr std::uint64_t bp() const noexcept { return value[kBp]; }
};

/// Registers of a frame, of which only some are known: a caller's scratch registers are lost.
struct KnownRegisters {
    static constexpr std::uint32_t kAll = (1U << Registers::kCount) - 1;
    /// What a walk that restores nothing else keeps: rbp, rsp, pc.
    static constexpr std::uint32_t kFrame =
        1U << Registers::kBp | 1U << Registers::kSp | 1U << Registers::kPc;

    Registers value;
    std::uint32_t known = 0;  ///< Bit n: register n.

    [[nodiscard]] constexpr bool knows(std::uint64_t reg) const noexcept {
        return reg < Registers::kCount && (known >> reg & 1) != 0;
    }
    constexpr void set(std::uint64_t reg, std::uint64_t to) noexcept {
        value.value[reg] = to;
        known |= 1U << reg;
    }
};

}  // namespace sample::unwind

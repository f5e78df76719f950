// What one machine instruction does to the stack of calls, told by its first bytes.
//
// Only calls, returns, indirect jumps and system calls matter to a shadow stack; everything else is
// seen by what it does to rsp. No full decoder: prefixes, the opcode, and for ff the ModRM byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind::truth {

enum class Instruction : std::uint8_t {
    other,
    call,           ///< e8, ff /2, with any prefixes.
    ret,            ///< c3, c2.
    indirect_jump,  ///< ff /4.
    syscall,        ///< 0f 05.
    far_transfer,   ///< Far calls, jumps and returns, iret: no 64-bit program should have one.
};

/// No instruction is longer.
inline constexpr std::size_t kMaxInstructionBytes = 15;

/// The kind of the instruction that `bytes` begins with; `other` too if it is cut off.
/// Source: Intel SDM volume 2, 2.1.1 (prefixes) and appendix A (opcode map).
[[nodiscard]] Instruction classify(std::span<const std::byte> bytes) noexcept;

}  // namespace sample::unwind::truth

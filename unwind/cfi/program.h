// Runs a call frame program up to a pc.
//
// Bounded: at most kMaxInstructions, at most kMaxRemembered nested remember_state. About 900 bytes
// of stack. No allocation, no system calls. Async-signal-safe.
// Source: DWARF 5 section 6.4.2; GNU extensions as in binutils' dwarf2.h.
#pragma once

#include "unwind/cfi/fde.h"
#include "unwind/cfi/rules.h"

namespace sample::unwind::cfi {

inline constexpr unsigned kMaxInstructions = 1U << 16;
inline constexpr unsigned kMaxRemembered = 6;

/// The rules of `fde` at `pc`, which lies in it. Expressions stay as addresses of their blocks (a
/// uleb length, then the operations), which have been checked to lie inside the program. False if
/// the program is corrupt, uses an unknown instruction or exceeds a bound; `out` is then garbage.
template <class Arch>
[[nodiscard]] bool run_program(const Fde& fde, std::uint64_t pc, BasicRules<Arch>& out) noexcept;

}  // namespace sample::unwind::cfi

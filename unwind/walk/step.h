// One step from a frame to its caller by full rules, restoring every register that can be. For the
// frames that a row cannot express; the walk's hot loop does the others itself.
#pragma once

#include "unwind/cfi/row.h"
#include "unwind/walk/registers.h"
#include "unwind/walk/stack_memory.h"

#include <cstdint>

namespace sample::unwind {

enum class Step : std::uint8_t {
    taken,
    root,
    unknown_register,  ///< A rule reads a register whose value is not known.
    unreadable,
    unsupported,
    no_progress,
};

/// Whether a saved register's slot lies below the stack pointer: in an epilogue the register has
/// been popped, and holds already what the slot held. So a slot that cannot be read there (a copy
/// begins at rsp) does no harm; one that can is read, because a leaf may use its red zone.
[[nodiscard]] constexpr bool is_popped(std::uint64_t slot, std::uint64_t sp) noexcept {
    return slot < sp;
}

/// `frame` becomes its caller: the registers, and which of them are known. On anything but `taken`
/// it is unchanged. Async-signal-safe. Source: DWARF 5 section 6.4.3.
template <class Arch>
[[nodiscard]] Step step_by_rules(const cfi::BasicRules<Arch>& rules,
                                 BasicKnownRegisters<Arch>& frame, StackMemory& memory) noexcept;

/// `frame`, which is in a signal trampoline, becomes the interrupted one: all of its registers are
/// in the ucontext at rsp. Async-signal-safe.
template <class Arch>
[[nodiscard]] Step step_by_ucontext(BasicKnownRegisters<Arch>& frame, StackMemory& memory) noexcept;

/// As step_by_rules(), by a row of kind cfa_sp, cfa_bp, cfa_register, deref or link; afterwards
/// rbp, rsp and pc are known. Async-signal-safe.
template <class Arch>
[[nodiscard]] Step step_by_row(cfi::Row row, BasicKnownRegisters<Arch>& frame,
                               StackMemory& memory) noexcept;

}  // namespace sample::unwind

// The caller of a frame that no rule covers: machine code made at run time, assembly without CFI.
//
// Nothing here is certain, so a frame found like this is marked (FrameAddress::guessed()), and a
// guess is only made where something speaks for it:
//
// * In a module, the words from rsp up are scanned for a return address of a call to code without
//   rules: the instruction before it calls such code of the same module (directly, or through a PLT
//   stub or a GOT entry), or it calls through a register or memory, and its own frame, by its
//   rules, was again called by a call to the function that it lies in.
// * Else rbp may be a frame pointer: it points up the stack to a larger frame pointer (or none),
//   and the word above is a return address (in a module, one after a call).
//
// Async-signal-safe.
#pragma once

#include "unwind/walk/module_table.h"
#include "unwind/walk/registers.h"
#include "unwind/walk/stack_memory.h"

#include <cstdint>

namespace sample::unwind {

/// Words above rsp that are scanned for a return address.
inline constexpr unsigned kScannedWords = 256;

/// Moves `frame` to its caller; then pc, rsp and rbp are known (rbp is taken to be unchanged where
/// no frame pointer says otherwise). `module` is the one that it lies in, or null. False: nothing
/// speaks for any caller; `frame` is unchanged. Reads code and unwind tables of modules in the
/// table, and the stack. A few microseconds at worst. Async-signal-safe.
[[nodiscard]] bool guess_caller(const ModuleTable& modules, const Module* module,
                                KnownRegisters& frame, StackMemory& memory) noexcept;

}  // namespace sample::unwind

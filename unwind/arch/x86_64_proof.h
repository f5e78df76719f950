// What x86-64 code itself proves of a frame's caller: a to d in walk/guess.h.
//
// Async-signal-safe.
#pragma once

#include "unwind/walk/guess.h"

#include <cstdint>

namespace sample::unwind {

struct Candidate {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::uint64_t bp = 0;
};

/// The frame whose caller is looked for, and what can be read.
struct FrameWithoutRule {
    const ModuleTable& modules;
    const Module* module;  ///< That of the frame, or null.
    bool leaf;             ///< It was interrupted, so that it need not have made a call.
    const KnownRegisters& registers;
    StackMemory& memory;

    /// The module at `pc`; null: there is none, or its file has been cut.
    [[nodiscard]] const Module* module_at(std::uint64_t pc) const noexcept {
        const Module* found = modules.find(Pc{pc});
        return found != nullptr && is_whole(*found, memory) ? found : nullptr;
    }

    /// Takes the word at `slot` for a return address. False: it can't be read.
    bool take(std::uint64_t slot, Candidate& out) const noexcept {
        out.sp = slot + 8;
        out.bp = registers.value.bp();
        return memory.scan(slot, out.pc);
    }
};

/// Whether the code at the pc says where the return address is: it only leaves its function, or
/// was just called.
[[nodiscard]] bool code_tells_caller(const FrameWithoutRule& frame, Candidate& out) noexcept;

/// Whether `caller`, by the frame pointer, is the frame's own caller: the function has made
/// that frame. Or, in code made at run time, nothing below the frame pointer could be a return
/// address, as a frame in between would have left one; compiled code may keep another thing in
/// rbp.
[[nodiscard]] bool passes_no_frame(const FrameWithoutRule& frame, const Candidate& caller) noexcept;

}  // namespace sample::unwind

// The call stack of who allocates, as a number: the stack is walked as the sampling handler walks
// it, and its frames are kept once in the area's table (capture/definition_store.h).
//
// A thread keeps its last stack, so that only frames that changed are walked and looked up. A
// signal handler of the program that comes in between gets no stack, 0; the sampling handler has a
// memo of its own and may come anywhere.
//
// The walk holds off unloads of libraries, as a sample does. A handler may leave it by a jump: the
// thread's next stack finds that out.
//
// Async-signal-safe, thread-safe, no lock. No system call but for a thread's first stack and its
// end.
#pragma once

#include "unwind/walk/registers.h"

#include <cstdint>

namespace sample::instrument {

/// The caller's registers, as far as a walk of its stack needs them.
[[nodiscard, gnu::always_inline]] inline unwind::Registers registers_here() noexcept {
    unwind::Registers here;
    here.value = {};
    auto& to = here.value;
    asm volatile(
        "leaq 0(%%rip), %%rax\n\t"
        "movq %%rax, %[pc]\n\t"
        "movq %%rsp, %[sp]\n\t"
        "movq %%rbp, %[bp]\n\t"
        "movq %%rbx, %[bx]\n\t"
        "movq %%r12, %[r12]\n\t"
        "movq %%r13, %[r13]\n\t"
        "movq %%r14, %[r14]\n\t"
        "movq %%r15, %[r15]"
        : [pc] "=m"(to[unwind::Registers::kPc]), [sp] "=m"(to[unwind::Registers::kSp]),
          [bp] "=m"(to[unwind::Registers::kBp]), [bx] "=m"(to[3]), [r12] "=m"(to[12]),
          [r13] "=m"(to[13]), [r14] "=m"(to[14]), [r15] "=m"(to[15])
        :
        : "rax");
    return here;
}

/// 0: it could not be had.
[[nodiscard]] std::uint32_t call_stack(const unwind::Registers& registers) noexcept;

/// The stack that the calling thread's last call_stack() has walked, right behind that: as
/// capture::copy_stack().
[[nodiscard]] std::uint32_t copy_last_stack(std::uint64_t* pcs, std::uint32_t most) noexcept;

/// Of leave_lane() and forget_lane().
void leave_call_stacks() noexcept;
void forget_call_stacks() noexcept;

}  // namespace sample::instrument

#include "sampler/source/own_descriptors.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/source/futex_lock.h"

#include <cerrno>

namespace sample::source {
namespace {

/// In the new thread: calls `work` below the caller's frame and its red zone, and ends.
long clone_and_call(void (*work)(void*) noexcept, void* argument) noexcept {
    register long parent_tid asm("rdx") = 0;
    register long child_tid asm("r10") = 0;
    register long tls asm("r8") = 0;
    register auto* function asm("r12") = work;
    register void* object asm("r13") = argument;
    long result = SYS_clone;
    asm volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "leaq -256(%%rsp), %%rsp\n\t"
        "andq $-64, %%rsp\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "movq %%r13, %%rdi\n\t"
        "callq *%%r12\n\t"
        "xorl %%edi, %%edi\n\t"
        "movl %[exit], %%eax\n\t"
        "syscall\n"
        "1:"
        : "+a"(result)
        : "D"(kApartFlags), "S"(0L), "r"(parent_tid), "r"(child_tid), "r"(tls), "r"(function),
          "r"(object), [exit] "i"(SYS_exit)
        : "rcx", "r11", "memory");
    return result;
}

}  // namespace

bool call_with_own_descriptors(void (*work)(void*) noexcept, void* argument) noexcept {
    const BlockedSignals blocked;
    const long result = clone_and_call(work, argument);
    if (result == -EINVAL) {
        work(argument);
    }
    return result > 0 || result == -EINVAL;
}

}  // namespace sample::source

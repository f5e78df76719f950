// The calls by which a program confines itself: prctl, and syscall for seccomp(2), which libc has
// no function for. See confinement.h.
//
// All else passes straight through. A call through syscall() may return twice (vfork, clone), on a
// stack that both share, so it must not leave a frame of ours: the wrapper looks at the number and
// jumps on, two compares and a jump in all.
#include "sampler/agent/confinement.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdarg>

namespace sample::agent {
namespace {

using Syscall = long(long, long, long, long, long, long, long);

using Code = void (*)() noexcept;

constinit Real<int(int, unsigned long, unsigned long, unsigned long, unsigned long)> g_prctl{
    "prctl"};
constinit Real<Syscall> g_syscall{"syscall"};

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

void sample_find_syscall() noexcept;
long sample_confining_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept;
void sample_first_syscall() noexcept;

/// Where syscall() goes on: libc's, or, before the first call, where that is looked up.
constinit sample::agent::Code sample_next_syscall = sample_first_syscall;

void sample_find_syscall() noexcept {
    sample_next_syscall = reinterpret_cast<agent::Code>(agent::g_syscall.get());
}

// NOLINTNEXTLINE(readability-function-size): as syscall itself.
long sample_confining_syscall(long number, long a, long b, long c, long d, long e,
                              long f) noexcept {
    agent::before_confinement({number, a, b, c});
    return agent::g_syscall.get()(number, a, b, c, d, e, f);
}

SAMPLE_WRAPPER int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    const auto a = va_arg(list, unsigned long);
    const auto b = va_arg(list, unsigned long);
    const auto c = va_arg(list, unsigned long);
    const auto d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) {
        agent::before_confinement({SYS_prctl, option, static_cast<long>(a), static_cast<long>(b)});
    }
    return agent::g_prctl.get()(option, a, b, c, d);
}

}  // extern "C"

// All six arguments stay where they are, the last of them on the stack. r11 is free: the system
// call itself overwrites it. Source: System V x86-64 psABI 3.2.1; glibc
// sysdeps/unix/sysv/linux/x86_64/ syscall.S.
asm(R"(
    .pushsection .text.syscall, "ax", @progbits
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    endbr64
    cmpl $317, %edi             # SYS_seccomp
    je sample_confining_syscall
    cmpl $157, %edi             # SYS_prctl
    je 1f
0:  movq sample_next_syscall(%rip), %r11
    jmp *%r11
1:  cmpl $22, %esi              # PR_SET_SECCOMP
    je sample_confining_syscall
    jmp 0b
    .cfi_endproc
    .size syscall, . - syscall

    .globl sample_first_syscall
    .hidden sample_first_syscall
    .type sample_first_syscall, @function
sample_first_syscall:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    pushq %r8
    .cfi_adjust_cfa_offset 8
    pushq %r9
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call sample_find_syscall
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r9
    .cfi_adjust_cfa_offset -8
    popq %r8
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    movq sample_next_syscall(%rip), %r11
    jmp *%r11
    .cfi_endproc
    .size sample_first_syscall, . - sample_first_syscall
    .popsection
)");
static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && PR_SET_SECCOMP == 22);

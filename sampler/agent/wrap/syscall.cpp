// syscall: the numbers of what is wrapped by name go to the same code, all others pass through.
//
// A call by number may return twice (vfork, clone), on a stack that both share, so it must not
// leave a frame of ours: the wrapper looks at a table and jumps on, a few instructions in all.
// fork's kind, whose child has a copy of the stack, may.
#include "sampler/agent/processes/readable.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/agent/wrap/numbered_call.h"
#include "sampler/capture/capture.h"
#include "sampler/instrument/lane_writer.h"

#include <sched.h>
#include <sys/syscall.h>

#include <cstdint>

namespace sample::agent {
namespace {

using Syscall = long(long, long, long, long, long, long, long);
using Code = void (*)() noexcept;

SAMPLE_NEXT(g_syscall, "syscall", Syscall);

/// The flags and the stack that clone's child gets; no flags at all: nobody can tell.
struct CloneRequest {
    std::uint64_t flags = 0;
    std::uint64_t stack = 0;
};

/// Source: clone(2), struct clone_args.
CloneRequest clone3_request(long arguments) noexcept {
    const auto* words = reinterpret_cast<const std::uint64_t*>(arguments);
    constexpr std::size_t kStack = 5;
    if (arguments == 0 || !Readable{}.object(words, (kStack + 1) * sizeof *words)) {
        return {CLONE_VM, 0};
    }
    return {words[0], words[kStack]};
}

}  // namespace

/// syscall() behind its look at the table: whoever comes this way leaves the same note.
extern "C" Syscall sample_pass_syscall;

long make(const NumberedCall& call) noexcept {
    return sample_pass_syscall(call.number, call.a, call.b, call.c, call.d, call.e, call.f);
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

void sample_first_syscall() noexcept;

/// Where syscall() goes on: libc's, or, before the first call, where that is looked up.
constinit sample::agent::Code sample_next_syscall = sample_first_syscall;
void sample_find_syscall() noexcept {
    sample_next_syscall = reinterpret_cast<agent::Code>(agent::g_syscall.get());
}

/// Whether the child of such a call has copies of its parent's memory and stack.
bool sample_is_fork(long number, long a, long b) noexcept {
    agent::CloneRequest request;
    if (number == SYS_clone) {
        request = {static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)};
    } else if (number == SYS_clone3) {
        request = agent::clone3_request(a);
    } else if (number == SYS_vfork) {
        request.flags = CLONE_VM;
    }
    if ((request.flags & (CLONE_THREAD | CLONE_SETTLS)) == CLONE_THREAD) {
        sample::instrument::leave_lane();
        sample::capture::share_thread_locals();
    }
    return (request.flags & (CLONE_VM | CLONE_SETTLS)) == 0 && request.stack == 0;
}

}  // extern "C"

// All six arguments stay where they are, the last of them on the stack. rax and r11 are free: the
// one is the result's, the other is overwritten by the system call itself. Source: System V x86-64
// psABI 3.2.1; glibc sysdeps/unix/sysv/linux/x86_64/syscall.S.
asm(R"(
    .macro sample_call_with_arguments_saved function
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
    call \function
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
    .endm

    .pushsection .text.syscall, "ax", @progbits
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    endbr64
    cmpl $512, %edi
    jae sample_pass_syscall
    movl %edi, %eax
    leaq sample_syscall_routes(%rip), %r11
    movzbl (%r11,%rax), %eax
    testl %eax, %eax
    jnz 1f
    .globl sample_pass_syscall
    .hidden sample_pass_syscall
    .type sample_pass_syscall, @function
sample_pass_syscall:
    movq (%rsp), %r11           # a note in the red zone: number_of_libcs_syscall()
    movq %r11, -16(%rsp)
    movq %rdi, -8(%rsp)
    movq sample_next_syscall(%rip), %r11
    jmp *%r11
1:  cmpl $4, %eax               # kLastThatReturnsTwice
    ja sample_our_syscall
    sample_call_with_arguments_saved sample_is_fork
    testb %al, %al
    jnz sample_our_syscall
    jmp sample_pass_syscall
    .cfi_endproc
    .size syscall, . - syscall

    .globl sample_first_syscall
    .hidden sample_first_syscall
    .type sample_first_syscall, @function
sample_first_syscall:
    .cfi_startproc
    endbr64
    sample_call_with_arguments_saved sample_find_syscall
    jmp sample_pass_syscall     # once more: the note is overwritten
    .cfi_endproc
    .size sample_first_syscall, . - sample_first_syscall
    .popsection
)");
static_assert(sample::agent::kNumbers == 512 && sample::agent::kLastThatReturnsTwice == 4);

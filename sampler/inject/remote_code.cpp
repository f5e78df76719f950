#include "sampler/inject/remote_code.h"

#include <cpuid.h>

#include <cstddef>

// Offsets in RemoteData, checked below.
asm(R"(
    .set .Lcreate_thread, 0
    .set .Ldetach_thread, 8
    .set .Lopen_library, 16
    .set .Lerror_text, 24
    .set .Lunmap, 32
    .set .Lerrno_place, 40
    .set .Lregion, 48
    .set .Lregion_bytes, 56
    .set .Lsignal_mask, 64
    .set .Lflags, 72
    .set .Lresume_stack, 80
    .set .Lresume_pc, 88
    .set .Lnew_thread, 96
    .set .Lrefusal, 104
    .set .Lis_called, 112
    .set .Lheld_pause, 120
    .set .Lstate, 136
    .set .Lproblem, 144
    .set .Llet_go, 152
    .set .Lpause, 160
    .set .Lthread_name, 176
    .set .Llibrary, 336
    .set .Ldata, sample_remote_code + 4096

    .pushsection .rodata.sample_remote_code, "a", @progbits
    .balign 16
    .hidden sample_remote_code, sample_remote_call, sample_remote_end
    .globl sample_remote_code, sample_remote_call, sample_remote_end
sample_remote_code:

    # The interrupted thread: its flags are in the data, everything else is as it was but rsp.
sample_remote_call:
    pushq .Ldata + .Lflags(%rip)
    push %rax
    push %rbx
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %rbp
    push %r8
    push %r9
    push %r10
    push %r11
    push %r12
    push %r13
    push %r14
    push %r15
    lea .Ldata(%rip), %rbx
    lea 8192(%rbx), %rbp
    mov $-1, %eax
    mov $-1, %edx
    xsave64 (%rbp)
    call *.Lerrno_place(%rbx)
    mov %rax, %r12
    mov (%rax), %r13d
    lea .Lnew_thread(%rbx), %rdi
    xor %esi, %esi
    lea sample_remote_thread(%rip), %rdx
    mov %rbx, %rcx
    call *.Lcreate_thread(%rbx)
    mov %rax, .Lrefusal(%rbx)
    mov %r13d, (%r12)
    mov $-1, %eax
    mov $-1, %edx
    xrstor64 (%rbp)
    movq $1, .Lis_called(%rbx)
    mov $1000, %ebp             # until it is interrupted again, or nobody is there who would
1:  movq $1000000, .Lheld_pause + 8(%rbx)
    mov $270, %eax              # pselect6(0, 0, 0, 0, &held_pause, 0)
    xor %edi, %edi
    xor %esi, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    lea .Lheld_pause(%rbx), %r8
    xor %r9d, %r9d
    syscall
    dec %ebp
    jnz 1b
    mov $14, %eax               # rt_sigprocmask(SIG_SETMASK, ...)
    mov $2, %edi
    lea .Lsignal_mask(%rbx), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rbp
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rbx
    pop %rax
    popfq
    mov .Ldata + .Lresume_stack(%rip), %rsp
    jmp *.Ldata + .Lresume_pc(%rip)

    # The thread made: rdi is the data.
sample_remote_thread:
    push %rbx
    push %rbp
    sub $8, %rsp
    mov %rdi, %rbx
    mov .Lnew_thread(%rbx), %rdi
    call *.Ldetach_thread(%rbx)
    mov $272, %eax              # unshare(CLONE_FILES)
    mov $0x400, %edi
    syscall
    mov $3, %ecx
    test %rax, %rax
    jnz 2f
    mov $157, %eax              # prctl(PR_SET_NAME, thread_name)
    mov $15, %edi
    lea .Lthread_name(%rbx), %rsi
    syscall
    lea .Llibrary(%rbx), %rdi
    mov $0x1002, %esi           # RTLD_NOW | RTLD_NODELETE
    call *.Lopen_library(%rbx)
    mov $2, %ecx
    test %rax, %rax
    jnz 2f
    call *.Lerror_text(%rbx)
    mov $1, %ecx
2:  mov %rax, .Lproblem(%rbx)
    mov %rcx, .Lstate(%rbx)
    mov $30000, %ebp
3:  cmpq $0, .Llet_go(%rbx)
    jne 4f
    mov $35, %eax               # nanosleep(&pause, 0)
    lea .Lpause(%rbx), %rdi
    xor %esi, %esi
    syscall
    dec %ebp
    jnz 3b
    add $8, %rsp                # nobody has let us go: it stays
    pop %rbp
    pop %rbx
    xor %eax, %eax
    ret
4:  mov .Lregion(%rbx), %rdi
    mov .Lregion_bytes(%rbx), %rsi
    mov .Lunmap(%rbx), %rax
    add $8, %rsp
    pop %rbp
    pop %rbx
    jmp *%rax                   # which returns to whoever has called us
sample_remote_end:
    .popsection
)");

extern "C" {
extern const std::byte sample_remote_code[];
extern const std::byte sample_remote_call[];
extern const std::byte sample_remote_end[];
}

namespace sample::inject {

static_assert(offsetof(RemoteData, unmap) == 32);
static_assert(offsetof(RemoteData, region_bytes) == 56);
static_assert(offsetof(RemoteData, resume_pc) == 88);
static_assert(offsetof(RemoteData, refusal) == 104);
static_assert(offsetof(RemoteData, let_go) == 152);
static_assert(offsetof(RemoteData, pause) == 160);
static_assert(offsetof(RemoteData, thread_name) == 176);
static_assert(offsetof(RemoteData, library) == 336);
static_assert(sizeof(RemoteData) <= kStateOffset - kDataOffset);
static_assert(kStateOffset - kDataOffset == 8192);

std::span<const std::byte> remote_code() noexcept {
    return {sample_remote_code, static_cast<std::size_t>(sample_remote_end - sample_remote_code)};
}

std::size_t call_offset() noexcept {
    return static_cast<std::size_t>(sample_remote_call - sample_remote_code);
}

bool can_keep_registers() noexcept {
    constexpr unsigned kEnabledByKernel = 1U << 27U;  // CPUID.1:ECX.OSXSAVE
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kEnabledByKernel) == 0) {
        return false;
    }
    constexpr unsigned kStateLeaf = 0xd;
    return __get_cpuid_count(kStateLeaf, 0, &a, &b, &c, &d) != 0 && b <= kMostStateBytes;
}

}  // namespace sample::inject

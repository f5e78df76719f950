#include "sampler/source/raw_thread.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/source/futex_lock.h"
#include "sampler/source/own_descriptors.h"

#include <sys/mman.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace sample::source {
namespace {

using capture::raw_syscall;

constexpr std::size_t kGuardBytes = 4096;

struct Work {
    int (*run)(void*) noexcept;
    void* argument;
};

/// What the new thread finds on its stack; the assembly below takes it off in this order.
struct FirstWords {
    Work* argument;
    int (*begin)(Work*) noexcept;
    void* mapping;
    std::size_t mapping_bytes;
    Work work;
};
static_assert(sizeof(FirstWords) == 48 && offsetof(FirstWords, work) == 32);

int begin(Work* work) noexcept {
    // Its own table, a copy of the program's until now. What stays open of it would keep the
    // program's pipes from ending.
    close_descriptors(0);
    return work->run(work->argument);
}

/// In the new thread: runs what lies on `stack`, unmaps the stack, ends with what that returned.
long clone_onto(long flags, FirstWords* stack, std::atomic<int>* tid) noexcept {
    register auto* parent_tid asm("rdx") = tid;
    register auto* child_tid asm("r10") = tid;
    register long tls asm("r8") = 0;
    long result = SYS_clone;
    asm volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "popq %%rdi\n\t"
        "popq %%rax\n\t"
        "callq *%%rax\n\t"
        "movl %%eax, %%ebx\n\t"
        "popq %%rdi\n\t"
        "popq %%rsi\n\t"
        "movl %[munmap], %%eax\n\t"
        "syscall\n\t"
        "movl %%ebx, %%edi\n\t"
        "movl %[exit], %%eax\n\t"
        "syscall\n"
        "1:"
        : "+a"(result)
        : "D"(flags), "S"(stack), "r"(parent_tid), "r"(child_tid),
          "r"(tls), [munmap] "i"(SYS_munmap), [exit] "i"(SYS_exit)
        : "rcx", "r11", "memory");
    return result;
}

}  // namespace

int start_raw_thread(int (*run)(void*) noexcept, void* argument, std::size_t stack_bytes,
                     std::atomic<int>& tid) noexcept {
    const std::size_t bytes = stack_bytes + kGuardBytes;
    const long mapping = capture::map_anonymous(bytes, MAP_NORESERVE | MAP_STACK);
    if (capture::is_failure(mapping)) {
        return static_cast<int>(mapping);
    }
    raw_syscall(SYS_madvise, mapping, static_cast<long>(bytes), MADV_DONTFORK);
    raw_syscall(SYS_mprotect, mapping, kGuardBytes, PROT_NONE);
    auto* first = reinterpret_cast<FirstWords*>(mapping + static_cast<long>(bytes)) - 1;
    *first = {&first->work, begin, reinterpret_cast<void*>(mapping), bytes, {run, argument}};
    // Blocked before the thread exists, so that nothing is ever delivered there.
    long result = 0;
    {
        const BlockedSignals blocked;
        result = clone_onto(kRawThreadFlags, first, &tid);
    }
    if (result < 0) {
        raw_syscall(SYS_munmap, mapping, static_cast<long>(bytes));
    }
    return static_cast<int>(result);
}

}  // namespace sample::source

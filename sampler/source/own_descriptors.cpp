#include "sampler/source/own_descriptors.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/source/futex_lock.h"
#include "sampler/source/tasks.h"

#include <linux/futex.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace sample::source {
namespace {

using capture::raw_syscall;

constexpr int kClaimed = -1;

/// The ids of those that there are; the kernel writes one before the thread runs. With more of them
/// at once the others are taken for threads of the program.
constinit std::array<std::atomic<int>, 16> g_apart{};

std::atomic<int>* claim_place() noexcept {
    for (std::atomic<int>& place : g_apart) {
        int nobody = 0;
        if (place.compare_exchange_strong(nobody, kClaimed)) {
            return &place;
        }
    }
    return nullptr;
}

/// In the new thread: calls `work` below the caller's frame and its red zone, and ends. The caller
/// meanwhile touches no stack. It waits for the word that the kernel clears when the thread leaves
/// the program's memory.
long clone_and_call(void (*work)(void*) noexcept, void* argument, std::atomic<int>* tid) noexcept {
    std::atomic<int> runs{1};
    register auto* parent_tid asm("rdx") = tid;
    register auto* child_tid asm("r10") = &runs;
    register long tls asm("r8") = 0;
    register auto* function asm("r12") = work;
    register void* object asm("r13") = argument;
    long flags = kApartFlags;
    long stack = 0;
    long result = SYS_clone;
    asm volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "js 3f\n\t"
        "jnz 1f\n\t"
        "leaq -256(%%rsp), %%rsp\n\t"
        "andq $-64, %%rsp\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "movq %%r13, %%rdi\n\t"
        "callq *%%r12\n\t"
        "xorl %%edi, %%edi\n\t"
        "movl %[exit], %%eax\n\t"
        "syscall\n"
        "1:\n\t"
        "movq %%rax, %%r12\n\t"
        "movq %%r10, %%rdi\n\t"
        "movl %[wait], %%esi\n\t"
        "movl $1, %%edx\n\t"
        "xorl %%r10d, %%r10d\n"
        "2:\n\t"
        "movl %[futex], %%eax\n\t"
        "syscall\n\t"
        "cmpl $0, (%%rdi)\n\t"
        "jne 2b\n\t"
        "movq %%r12, %%rax\n"
        "3:"
        : "+a"(result), "+D"(flags), "+S"(stack), "+r"(parent_tid), "+r"(child_tid), "+r"(function)
        : "r"(tls),
          "r"(object), [exit] "i"(SYS_exit), [futex] "i"(SYS_futex), [wait] "i"(FUTEX_WAIT)
        : "rcx", "r11", "memory");
    return result;
}

/// It has left the program's memory, and is a thread of the process for some microseconds more.
void await_end(long tid) noexcept {
    constexpr int kMostYields = 50;
    constexpr int kMostLooks = 10'000;
    const long process = raw_syscall(SYS_getpid);
    for (int look = 0; look < kMostLooks && raw_syscall(SYS_tgkill, process, tid, 0) == 0; ++look) {
        if (look < kMostYields) {
            raw_syscall(SYS_sched_yield);
        } else {
            capture::sleep_briefly();
        }
    }
}

}  // namespace

bool call_with_own_descriptors(void (*work)(void*) noexcept, void* argument) noexcept {
    const BlockedSignals blocked;
    std::atomic<int> unlisted{0};
    std::atomic<int>* const place = claim_place();
    const long result = clone_and_call(work, argument, place != nullptr ? place : &unlisted);
    if (result > 0) {
        await_end(result);
    }
    if (place != nullptr) {
        place->store(0);
    }
    if (result == -EINVAL) {
        work(argument);
    }
    return result > 0 || result == -EINVAL;
}

void close_descriptors(int first) noexcept {
    if (raw_syscall(SYS_close_range, first, ~0U, 0) == 0) {
        return;
    }
    // Before Linux 5.9, or where a container forbids it.
    const int folder = open_folder("/proc/thread-self/fd");
    if (folder < 0) {
        return;
    }
    for_each_number(folder, [&](int fd) {
        if (fd >= first && fd != folder) {
            raw_syscall(SYS_close, fd);
        }
        return true;
    });
    raw_syscall(SYS_close, folder);
}

bool is_apart(int tid) noexcept {
    return std::any_of(g_apart.begin(), g_apart.end(),
                       [tid](const std::atomic<int>& place) { return place.load() == tid; });
}

void forget_apart() noexcept {
    for (std::atomic<int>& place : g_apart) {
        place.store(0);
    }
}

}  // namespace sample::source

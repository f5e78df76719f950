// System calls without libc: no errno, no cancellation point, no PLT.
//
// Async-signal-safe. Source: syscall(2), x86-64 calling convention.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace sample::capture {

/// Returns the kernel's result: a negative errno on failure. `errno` is untouched.
// NOLINTNEXTLINE(readability-function-size): a system call has six arguments.
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

template <class T>
long as_argument(T* pointer) noexcept {
    return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// Of a call that answers with an address.
inline bool is_failure(long result) noexcept {
    return result < 0 && result > -4096;
}

/// Zeroed memory of the process's own, or a negative errno. `flags`: further ones of mmap(2).
inline long map_anonymous(std::size_t bytes, long flags = 0) noexcept {
    return raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/// A wait of some fifty microseconds for another thread that lets it run.
///
/// sched_yield(2) does not: a thread with real-time priority that yields to one without goes on at
/// once, for ever. So whoever waits sleeps. By a futex that nobody wakes, as that is a call that
/// the agent makes anyhow, where a filter of system calls counts them.
inline void sleep_briefly() noexcept {
    constexpr long kBriefNs = 50'000;
    const std::uint32_t nobody = 0;
    const timespec timeout{0, kBriefNs};
    raw_syscall(SYS_futex, as_argument(&nobody), FUTEX_WAIT_PRIVATE, 0, as_argument(&timeout));
}

}  // namespace sample::capture

// System calls without libc: no errno, no cancellation point, no PLT.
//
// Async-signal-safe. Source: syscall(2), x86-64 calling convention.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

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

}  // namespace sample::capture

// The one system call that the walker makes, without errno. Async-signal-safe.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace sample::unwind::arch {

/// rt_sigprocmask(how, mask, null, 8): zero or a negated errno.
inline long rt_sigprocmask(long how, std::uint64_t mask) noexcept {
#if defined(__x86_64__)
    long result = SYS_rt_sigprocmask;
    register long mask_size asm("r10") = 8;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(how), "S"(mask), "d"(0L), "r"(mask_size)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long number asm("x8") = SYS_rt_sigprocmask;
    register long result asm("x0") = how;
    register std::uint64_t set asm("x1") = mask;
    register long old_set asm("x2") = 0;
    register long mask_size asm("x3") = 8;
    asm volatile("svc #0"
                 : "+r"(result)
                 : "r"(number), "r"(set), "r"(old_set), "r"(mask_size)
                 : "memory");
    return result;
#endif
}

}  // namespace sample::unwind::arch

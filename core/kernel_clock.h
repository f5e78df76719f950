// The kernel's clocks, past libc: libraries that show a program another time (faketime) stand
// before its functions, and libstdc++'s clocks call those.
//
// Async-signal-safe. Source: clock_gettime(2); x86-64 calling convention of system calls.
#pragma once

#include <sys/syscall.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace sample {

/// In nanoseconds; 0 if there is no such clock. One system call.
inline std::uint64_t read_kernel_clock_ns(clockid_t clock) noexcept {
    timespec now{};
    long result = SYS_clock_gettime;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(static_cast<long>(clock)), "S"(&now)
                 : "rcx", "r11", "memory");
    return result != 0 ? 0
                       : static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
                             static_cast<std::uint64_t>(now.tv_nsec);
}

/// What std::chrono::steady_clock is without such a library: its times are that clock's, which
/// condition variables hand to the kernel as they are.
struct KernelClock {
    using duration = std::chrono::steady_clock::duration;
    using time_point = std::chrono::steady_clock::time_point;
    static time_point now() noexcept {
        return time_point{std::chrono::nanoseconds{read_kernel_clock_ns(CLOCK_MONOTONIC)}};
    }
};

}  // namespace sample

// The two clocks of the handler: the time stamp counter, which orders samples and shows gaps, and
// the thread's CPU clock, which is read once after a gap.
//
// Async-signal-safe. Source: clock_gettime(2); Intel SDM volume 2, RDTSC.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <cstdint>
#include <ctime>

namespace sample::capture {

/// Ticks of the time stamp counter. No system call.
inline std::uint64_t read_ticks() noexcept {
    return __builtin_ia32_rdtsc();
}

/// A kernel clock in nanoseconds; 0 if the kernel refuses. One system call.
inline std::uint64_t read_kernel_clock_ns(clockid_t clock) noexcept {
    timespec now{};
    if (raw_syscall(SYS_clock_gettime, clock, as_argument(&now)) != 0) {
        return 0;
    }
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// CPU time of the calling thread. One system call (about 300 ns).
inline std::uint64_t thread_cpu_ns() noexcept {
    return read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace sample::capture

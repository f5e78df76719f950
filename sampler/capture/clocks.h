// The two clocks of the handler: the time stamp counter, which orders samples and shows gaps, and
// the thread's CPU clock, which is read once after a gap. Where samples count an event, the
// thread's count of it stands for its clock.
//
// Async-signal-safe. Source: clock_gettime(2); Intel SDM volume 2, RDTSC.
#pragma once

#include "core/kernel_clock.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/shared_area.h"

#include <sys/resource.h>

#include <cstdint>
#include <ctime>

namespace sample::capture {

/// Ticks of the time stamp counter. No system call.
inline std::uint64_t read_ticks() noexcept {
    return __builtin_ia32_rdtsc();
}

/// CPU time of the calling thread. One system call (about 300 ns).
inline std::uint64_t thread_cpu_ns() noexcept {
    return read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// So many of these the calling thread has had since it began. One system call.
/// Source: getrusage(2), RUSAGE_THREAD.
inline std::uint64_t thread_count(KernelCount what) noexcept {
    rusage usage{};
    raw_syscall(SYS_getrusage, RUSAGE_THREAD, as_argument(&usage));
    const auto minor = static_cast<std::uint64_t>(usage.ru_minflt);
    const auto major = static_cast<std::uint64_t>(usage.ru_majflt);
    if (what == KernelCount::faults) {
        return minor + major;
    }
    if (what == KernelCount::minor_faults) {
        return minor;
    }
    if (what == KernelCount::major_faults) {
        return major;
    }
    return static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
}

}  // namespace sample::capture

// Opens the perf events that interrupt a thread once a period of its CPU time, or once in so many
// occurrences of another event (source/event_spec.h).
//
// Time is cpu-clock: an hrtimer that runs while the thread does, so 10,000 expiries a CPU second
// are possible, which POSIX CPU timers (scheduler ticks) are not. Opened disabled; whoever owns the
// descriptor enables it. No libc beyond the raw system call. Async-signal-safe. Source:
// perf_event_open(2), Linux 5.13 for sigtrap, inherit_thread and remove_on_exec.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <cstdint>

namespace sample::source {

/// A read of the event gives three words: its count, and for how long it was enabled and running.
/// From them collector/throttling.h tells whether the kernel has stopped it meanwhile.
inline constexpr std::uint64_t kReadFormat =
    PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

struct PerfRequest {
    std::uint32_t type = PERF_TYPE_SOFTWARE;
    std::uint64_t config = PERF_COUNT_SW_CPU_CLOCK;
    std::uint64_t period = 0;  ///< Nanoseconds of a clock, else occurrences.
    std::uint64_t cookie = 0;  ///< Comes back in si_perf_data (sigtrap).
    bool exclude_kernel = false;
    bool sigtrap = false;  ///< A synchronous SIGTRAP.
    bool inherits = true;  ///< New threads get it, too (sigtrap).
};

/// A disabled event on the thread `tid` (0: the calling one). A descriptor, or a negative errno.
inline int open_event(const PerfRequest& request, int tid) noexcept {
    perf_event_attr attr{};
    attr.type = request.type;
    attr.size = sizeof attr;
    attr.config = request.config;
    attr.sample_period = request.period;
    attr.read_format = kReadFormat;
    attr.disabled = 1;
    attr.exclude_kernel = request.exclude_kernel ? 1 : 0;
    attr.exclude_hv = 1;
    attr.remove_on_exec = 1;  // its signals are nothing to the next image
    if (request.sigtrap) {
        attr.sigtrap = 1;
        attr.sig_data = request.cookie;
        attr.inherit = request.inherits ? 1 : 0;
        attr.inherit_thread = attr.inherit;
    } else {
        attr.wakeup_events = 1;
    }
    const auto open = [&] {
        return capture::raw_syscall(SYS_perf_event_open, capture::as_argument(&attr), tid, -1, -1,
                                    PERF_FLAG_FD_CLOEXEC);
    };
    long fd = open();
    if (fd == -EINVAL && !request.sigtrap) {
        attr.remove_on_exec = 0;  // before Linux 5.13
        fd = open();
    }
    return static_cast<int>(fd);
}

/// Makes every expiry of `fd` send `signal` to the thread `tid`. 0, or a negative errno.
/// Source: fcntl(2), F_SETOWN_EX, F_SETSIG.
inline int send_signal_to(int fd, int tid, int signal) noexcept {
    f_owner_ex owner{};
    owner.type = F_OWNER_TID;
    owner.pid = tid;
    long result = capture::raw_syscall(SYS_fcntl, fd, F_SETOWN_EX, capture::as_argument(&owner));
    if (result == 0) {
        result = capture::raw_syscall(SYS_fcntl, fd, F_SETSIG, signal);
    }
    if (result == 0) {
        result = capture::raw_syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK);
    }
    return static_cast<int>(result);
}

}  // namespace sample::source

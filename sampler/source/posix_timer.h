// A timer of the kernel's that signals one thread, once a period of wall time or when a clock says
// so.
//
// POSIX timers need no permission, but those of wall time go on while the thread sleeps: every
// sleeping call of the program then returns EINTR. Those of CPU clocks expire at the scheduler's
// ticks alone. Not inherited by forked children, gone after an exec. By raw system
// calls: libc would start a thread. Async-signal-safe. Source: timer_create(2), SIGEV_THREAD_ID.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <csignal>
#include <cstdint>
#include <ctime>

namespace sample::source {

using TimerId = int;  ///< The kernel's; negative: none.

inline timespec to_timespec(std::uint64_t ns) noexcept {
    return {static_cast<time_t>(ns / 1'000'000'000U), static_cast<long>(ns % 1'000'000'000U)};
}

/// A stopped timer whose signals go to the thread `tid`, carrying `cookie`. Its id, or a negative
/// errno.
inline TimerId create_thread_timer(int tid, int signal, std::uint64_t cookie,
                                   clockid_t clock = CLOCK_MONOTONIC) noexcept {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(cookie);
    event._sigev_un._tid = tid;
    TimerId id = -1;
    const long result = capture::raw_syscall(SYS_timer_create, clock, capture::as_argument(&event),
                                             capture::as_argument(&id));
    return result < 0 ? static_cast<TimerId>(result) : id;
}

/// The first expiry after `first_ns`, then one every `period_ns`, if that is not 0; none if both
/// are.
inline void start_timer(TimerId id, std::uint64_t first_ns, std::uint64_t period_ns) noexcept {
    const itimerspec setting{to_timespec(period_ns), to_timespec(first_ns)};
    capture::raw_syscall(SYS_timer_settime, id, 0, capture::as_argument(&setting), 0);
}

inline void delete_timer(TimerId id) noexcept {
    capture::raw_syscall(SYS_timer_delete, id);
}

}  // namespace sample::source

// A wait for another thread that lets it run.
//
// sched_yield(2) does not: a thread with real-time priority that yields to one without goes on at
// once, for ever. So whoever waits sleeps. Async-signal-safe.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <linux/futex.h>

#include <cstdint>
#include <ctime>

namespace sample::capture {

/// Some fifty microseconds. By a futex that nobody wakes, as that is a call that the agent makes
/// anyhow, where a filter of system calls counts them.
inline void sleep_briefly() noexcept {
    constexpr long kBriefNs = 50'000;
    const std::uint32_t nobody = 0;
    const timespec timeout{0, kBriefNs};
    raw_syscall(SYS_futex, as_argument(&nobody), FUTEX_WAIT_PRIVATE, 0, as_argument(&timeout));
}

}  // namespace sample::capture

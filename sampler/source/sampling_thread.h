// The sampling thread: a thread of ours inside the program that looks at the others once a period.
//
// It reads their CPU clocks, and as the source `thread` interrupts those that ran (see
// interrupt_choice.h); for the wall clock it reports where the sleeping ones wait (see
// capture/waits.h). It needs no permission and no descriptor of the program's.
//
// Its own CPU time is the process's too, and is told in AreaHeader::observer_cpu_ns. It ends when
// the session stops, when the collector is gone, and when no other thread is left. Where there are
// many threads, idle ones are looked at less often.
#pragma once

#include "sampler/capture/shared_area.h"

#include <cstdint>

namespace sample::source {

struct SamplingThreadJob {
    capture::Area* area = nullptr;
    std::uint64_t period_ns = 0;
    int collector_pid = 0;
    bool reports_waits = false;
};

/// Makes the thread, which waits for release_sampling_thread(). At most one a process. Its id, or a
/// negative errno. Not async-signal-safe.
int start_sampling_thread(const SamplingThreadJob& job) noexcept;

/// Lets it begin, or end without having begun. `interrupts`: threads that ran, as the source
/// `thread`.
void release_sampling_thread(bool begins, bool interrupts) noexcept;

/// Ends it and returns when it is gone. False: it was not there, or not this process's.
/// Async-signal-safe.
bool end_sampling_thread() noexcept;
/// As it was before it was ended. Its id, or a negative errno. Async-signal-safe.
int start_sampling_thread_again() noexcept;

}  // namespace sample::source

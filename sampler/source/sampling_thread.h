// The sampling thread: a thread of ours inside the program that looks at the others once a period.
//
// It reads their CPU clocks, and as the source `thread` interrupts those that ran (see
// thread_table.h); for the wall clock it reports where the sleeping ones wait (see
// capture/waits.h). It needs no permission and no descriptor of the program's.
//
// It never has more rights than the program: it has no capability, gains none by an exec, and ends
// before a call that gives rights up, to begin anew with what the program has then
// (agent/wrap/rights.cpp). Where the program does that past libc it notices, within a tenth of a
// second, and ends for good.
//
// Where events see the program but not the kernel it stands by, and takes over when the collector
// says so (AreaHeader::observer_takes_over): it meets threads in system calls, too.
//
// Its own CPU time is the process's too, and is told in AreaHeader::observer_cpu_ns. It ends when
// the session stops, when the collector is gone, and when no other thread is left. Where there are
// many threads, idle ones are looked at less often. While none runs it rests (pace.h), until a
// timer of the process's CPU clock says that one does.
#pragma once

#include "sampler/capture/area.h"

#include <cstdint>

namespace sample::source {

/// Wakes it from its rest. A signal that only libc sends, to a single thread each time: who waits
/// for one is handed the process's, too, and none of the program's must be taken.
inline constexpr int kRestSignal = 33;

struct SamplingThreadJob {
    capture::Area* area = nullptr;
    std::uint64_t period_ns = 0;
    int collector_pid = 0;
    bool reports_waits = false;
};

/// Makes the thread, which has given up its rights then and waits for release_sampling_thread(). At
/// most one a process. Its id, or a negative errno. Not async-signal-safe.
int start_sampling_thread(const SamplingThreadJob& job) noexcept;

/// Lets it begin, or end without having begun. `interrupts`: threads that ran, as the source
/// `thread`; else it may be told to. `signal`: that they get.
void release_sampling_thread(bool begins, bool interrupts, int signal) noexcept;

/// From now on it does not rest: a filter of system calls would not let it. Async-signal-safe.
void keep_sampling_thread_awake() noexcept;

/// Ends it for good and returns when it is gone. False: it is not this process's.
/// Async-signal-safe.
bool end_sampling_thread() noexcept;

/// A thread of the program is about to end with `status`. The sampling thread ends with the latest:
/// where it leaves last, that is the process's. Async-signal-safe.
void note_thread_status(int status) noexcept;
[[nodiscard]] int last_thread_status() noexcept;

/// Ends it and returns when it is gone, until resume_sampling_thread() makes it anew: as a thread
/// of whoever calls that, with no more rights than the caller has then. Several threads may do so
/// at once: the last one resumes. False: there is none, or it is not this process's; then nothing
/// is to be resumed. Async-signal-safe.
[[nodiscard]] bool pause_sampling_thread() noexcept;
void resume_sampling_thread() noexcept;

/// In a forked child: it is the parent's.
void forget_sampling_thread() noexcept;

}  // namespace sample::source

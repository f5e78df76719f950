// The gate: no event may expire inside an exec, nor inside the fork of a big process.
//
// An overflow inside execve sends SIGTRAP to the new image, where it kills. The process holds no
// descriptor to switch its events off with, so it asks the collector through shared memory: count a
// request up, ring the session's doorbell (a futex), wait for the acknowledgement (another futex).
// This works whatever the process did to its descriptors, namespaces, root directory or user id. If
// the collector is dead its descriptors are closed and the events with them. If it does not answer
// (it is stopped; see agent/session/patience.h), SIGTRAP is ignored for the new image: a small
// change of the program, but no death.
//
// In a vfork or posix_spawn child the memory is the parent's and no event is: no gate is closed
// there.
#pragma once

#include "sampler/agent/signals/signals.h"
#include "sampler/capture/area.h"

#include <cstdint>

namespace sample::agent {

/// Called once when the process has joined a session, behind set_up_watch().
void set_up_gate(bool needed) noexcept;

/// False in a vfork child, whose memory is its parent's, and in a forked child that has joined no
/// session. Async-signal-safe.
[[nodiscard]] bool is_own_process() noexcept;

/// Events off, until the exec succeeds or this object goes. Async-signal-safe.
class ClosedGate {
public:
    ClosedGate() noexcept;
    ~ClosedGate();
    ClosedGate(const ClosedGate&) = delete;
    ClosedGate& operator=(const ClosedGate&) = delete;

private:
    capture::Area* area_ = nullptr;
    ShownDispositions shown_;
    bool is_closed_ = false;
    bool is_left_alone_ = false;  ///< By the sampling thread, as a thread that moves data.
};

/// Events off while a big process forks: each expiry lengthens the copying of its page tables. Both
/// are called by the thread that forks, around the fork. What the fork cost becomes a sample of its
/// own, where fork was called. A process that is not big pays one system call. Async-signal-safe.
void before_fork() noexcept;
void after_fork() noexcept;

/// Sends the calling thread what an expiry of its event would: it is sampled here and now.
/// Async-signal-safe.
void take_sample_here() noexcept;
/// Sends it what the sampling thread would. The sample is one of `function`, which the caller has
/// called, as if it were there still. Async-signal-safe.
void take_sample_of(std::uintptr_t function) noexcept;

/// Instead of after_fork(), first thing in a child that shares no memory with its parent, by the
/// thread that made it: it joins the session as a new process. Async-signal-safe: also a child of
/// _Fork(3), whose parent's other threads may have held any lock.
void in_forked_child() noexcept;

/// Events off until the process ends. Async-signal-safe.
void close_gate_for_good() noexcept;

/// The process is about to exit with `status`: leaves the clock and the status in the area, and
/// lets the session finish if it is this process's. Async-signal-safe.
void note_exit(int status) noexcept;

/// The calling thread is about to end by a system call of its own. If it is the last one, so is the
/// process, with its status: ours must not end after it. The status to end with: that of a thread
/// which has begun to end meanwhile, and would have been the last without us. Async-signal-safe.
[[nodiscard]] int note_thread_exit(int status) noexcept;

}  // namespace sample::agent

// The system calls that the agent makes, as a seccomp filter sees them. See confinement.h.
//
// Whoever adds a system call to the handler, the agent or the sampling thread adds it here: one
// that is missing is one that a program's filter may answer with death.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

namespace sample::agent {

/// What the calls are for.
enum class Needs : std::uint8_t {
    looking,          ///< At the next filter.
    sampling,         ///< The handler, a thread's end, the gate of an exec, an exit.
    answering,        ///< To tell a call that a signal ends from one that goes on.
    growing,          ///< More room for samples than there is at first.
    sampling_thread,  ///< That thread's start, work and end.
    joining           ///< What a new process of the session or a new thread's event needs.
};

/// Whether all calls answer under the filter as they do without it. Async-signal-safe.
[[nodiscard]] bool permits(std::span<const sock_filter> filter, Needs needs) noexcept;

}  // namespace sample::agent

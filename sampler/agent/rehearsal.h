// Tries a seccomp filter on a child, before the program sets it. See confinement.h.
#pragma once

#include "sampler/agent/confinement.h"

#include <cstdint>

namespace sample::agent {

enum class Verdict : std::uint8_t {
    permitted,      ///< All calls answer as they do without the filter.
    refused,        ///< One does not, or kills; or it could not be tried.
    not_installed,  ///< The kernel does not take the filter.
};

/// What the calls are for.
enum class Needs : std::uint8_t {
    nothing,    ///< Only whether the filter can be set.
    sampling,   ///< The handler, a thread's end, the gate of an exec, an exit.
    joining,    ///< What a new process of the session or a new thread's event needs.
    rehearsing  ///< Another rehearsal.
};

/// A child that shares nothing installs the filter and makes the calls. It leaves no trace: no
/// SIGCHLD, no core, no handler of the program's runs in it. Not async-signal-safe.
Verdict rehearse(const ConfiningCall& call, Needs needs) noexcept;

}  // namespace sample::agent

// What the program asks of its own session: to sample, not to sample, and how often.
//
// By a word of the shared area and the session's doorbell, as the gate does (processes/gate.h): it
// needs no descriptor, works inside a sandbox, and never waits unless asked to. Thread-safe.
#pragma once

#include "sampler/control/control_word.h"

#include <cstdint>
#include <span>

namespace sample::agent {

using control::ControlKind;
using control::ControlRequest;

struct SamplingState {
    bool connected = false;      ///< The process belongs to a session whose collector goes on.
    bool takes_samples = false;  ///< Else it was begun to take none, which nobody can change.
    bool sampling = false;
    std::uint32_t frequency_hz = 0;  ///< That was asked for last; 0: an event is counted.
};

/// Does not wait until it is carried out. False: nobody listens. Async-signal-safe.
bool post_control(ControlRequest request) noexcept;

/// As post_control(), and waits until the collector has carried it out. False: it has not, within
/// `timeout_ms`, or nobody listens. Async-signal-safe.
bool ask_control(ControlRequest request, unsigned timeout_ms) noexcept;

/// From the shared area, without a system call but for the process's number. Async-signal-safe.
[[nodiscard]] SamplingState sampling_state() noexcept;

/// The path of the socket that the session is controlled by (docs/control.md), with a NUL behind
/// it. False: there is none, or `out` is too small. Async-signal-safe.
[[nodiscard]] bool control_socket_path(std::span<char> out) noexcept;

}  // namespace sample::agent

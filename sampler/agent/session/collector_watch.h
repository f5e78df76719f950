// Whether the collector answers: what all processes of a session know of it together.
//
// The session's page is shared by all of them, and stays mapped over a fork. Who has waited for the
// collector in vain says so there, and nobody waits any more until the collector clears it; see
// agent/session/patience.h for how long that takes. A fresh image cannot see the page before the
// collector has answered, so whoever starts one asks for a sign of life first, and tells it by the
// mark in SAMPLE_SESSION. Async-signal-safe, also in a vfork child.
#pragma once

#include "sampler/capture/shared_area.h"

#include <atomic>
#include <cstdint>

namespace sample::agent {

/// Called when the process has joined. `collector`: 0 if it has no id in this pid namespace.
void set_up_watch(capture::SessionPage* page, std::uint32_t collector) noexcept;

/// The process that answers; 0: not known.
[[nodiscard]] std::uint32_t collector_pid() noexcept;

/// The session's page, or null. It is mapped once.
[[nodiscard]] capture::SessionPage* session_page() noexcept;

/// The gatekeeper looks around.
void ring_doorbell() noexcept;

/// Waits until `ack`, a futex, has reached `wanted`, at most `most_ns`. False: the collector died,
/// or does nothing.
bool wait_for(std::atomic<std::uint32_t>& ack, std::uint32_t wanted,
              std::uint64_t most_ns) noexcept;

/// True as long as nobody has waited in vain.
[[nodiscard]] bool may_wait() noexcept;

/// Somebody has waited in vain.
void leave_word() noexcept;

/// Asks for a sign of life, and marks the session accordingly for what is started next.
void ask_collector() noexcept;

}  // namespace sample::agent

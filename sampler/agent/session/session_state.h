// What this process knows of its session: what SAMPLE_SESSION says (where the collector listens,
// the secret that it asks for, whether who joins may wait for it; see control/protocol.h), and
// whether the collector answers.
//
// The former is set once, before there are other threads; only the mark changes later, a single
// character. The latter all processes of a session know together.
//
// The session's page is shared by all of them, and stays mapped over a fork. Who has waited for the
// collector in vain says so there, and nobody waits any more until the collector clears it; see
// agent/session/patience.h for how long that takes. A fresh image cannot see the page before the
// collector has answered, so whoever starts one asks for a sign of life first, and tells it by the
// mark in SAMPLE_SESSION. Async-signal-safe, also in a vfork child.
#pragma once

#include "sampler/capture/shared_area.h"
#include "sampler/control/protocol.h"

#include <atomic>
#include <cstdint>

namespace sample::agent {

/// Takes a copy of NAME:SECRET:MARK. False, and nothing is changed: it is of another form.
bool set_session(const char* text) noexcept;

/// Empty: none is known.
[[nodiscard]] const char* session_name() noexcept;
[[nodiscard]] const control::Secret& session_secret() noexcept;
[[nodiscard]] bool session_may_be_waited_for() noexcept;

/// The entry of an environment, SAMPLE_SESSION=…; it changes with the mark.
[[nodiscard]] const char* session_entry() noexcept;

/// What is started from here on may wait for the collector, or must not: also what libc starts with
/// the program's own environment, where the mark is changed in place.
void mark_session(bool may_wait) noexcept;

/// Called when the process has joined. `collector`: 0 if it has no id in this pid namespace.
void set_up_watch(capture::SessionPage* page, std::uint32_t collector) noexcept;

/// Where the session is controlled from outside; empty: nowhere.
[[nodiscard]] const char* control_socket() noexcept;
/// Takes a copy; of one that is too long, nothing.
void set_control_socket(const char* path) noexcept;

/// The process that answers; 0: not known.
[[nodiscard]] std::uint32_t collector_pid() noexcept;

/// The session's page, or null. It is mapped once.
[[nodiscard]] capture::SessionPage* session_page() noexcept;

/// The gatekeeper looks around.
void ring_doorbell() noexcept;

/// Which thread of the collector says that something is done.
enum class AnsweredBy : std::uint8_t {
    gatekeeper,  ///< It waits for nothing: if it is silent, so is the collector for everybody.
    session,     ///< The session's loop, which may wait for a disk.
    recording,   ///< Whoever makes the recording whole: a disk may keep it for two seconds in all.
};

/// Waits until `ack`, a futex, has reached `wanted`, at most `most_ns`. False: the collector died,
/// or does nothing, for which the session's loop gets all of the time; what that leaves undone says
/// nothing to other waiters.
bool wait_for(std::atomic<std::uint32_t>& ack, std::uint32_t wanted, std::uint64_t most_ns,
              AnsweredBy by = AnsweredBy::gatekeeper) noexcept;

/// True as long as nobody has waited in vain.
[[nodiscard]] bool may_wait() noexcept;

/// Somebody has waited in vain.
void leave_word() noexcept;

/// Asks for a sign of life, and marks the session accordingly for what is started next.
void ask_collector() noexcept;

}  // namespace sample::agent

// What SAMPLE_SESSION says: where the collector listens, the secret that it asks for, and whether
// who joins may wait for it. See control/protocol.h.
//
// Set once, before there are other threads; only the mark changes later, a single character.
// Async-signal-safe.
#pragma once

#include "sampler/control/protocol.h"

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

}  // namespace sample::agent

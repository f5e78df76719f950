// Joins the session: talks to the collector, maps the area, opens the events, and gives every
// descriptor away.
#pragma once

#include "sampler/capture/area.h"

namespace sample::agent {

enum class JoinKind { fresh_image, after_fork };

/// Joins the session named in the environment (or, after a fork, the parent's). Without one, and if
/// the library was preloaded by hand, starts a collector. On failure the program runs on
/// unprofiled; what a person must know goes to standard error in one line. After it returns the
/// process holds no descriptor of ours. Uses system calls only: safe in a forked child of a
/// threaded program.
void join_session(JoinKind kind) noexcept;

/// The calling thread is a new one: it gets what the session's source wants of each.
void begin_thread() noexcept;

/// This process is about to trace `pid`: the collector stops its events first. Async-signal-safe.
void announce_tracing(int pid) noexcept;

}  // namespace sample::agent

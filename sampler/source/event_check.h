// Whether an event can be sampled here: asked of the kernel by trying, before the program starts.
//
// Each refusal says what to do about it. A tracepoint is also tried out: some lie on the path of
// the sampling signal itself (signal:signal_deliver, raw_syscalls:sys_enter), and each sample would
// cause the next, for ever. Not async-signal-safe.
#pragma once

#include "core/result.h"
#include "sampler/source/event_spec.h"

namespace sample::source {

/// The sources that an event can be delivered by.
enum class EventSource { best, sigtrap, perf };

/// Opens the event, disabled, on the calling thread, as the agent will, and closes it again; forks
/// for the trial of a tracepoint. Errors: what cannot work, and what to do.
[[nodiscard]] Result<void> check_event(const EventSpec& event, EventSource source);

}  // namespace sample::source

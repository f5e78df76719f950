// Events of the program's own: their fields, as capture::event_part() says, into the thread's lane
// or, of Important ones, to what is kept for the process's life.
//
// All functions: async-signal-safe, thread-safe, no lock, no allocation.
#pragma once

#include "sample/trace_abi.h"

namespace sample::instrument {

/// False: there was no room, or the event has more than kMostEventBytes, or an Important one more
/// than it states; it is counted as lost. The end of a scope that it begins is end_scope().
bool raise_event(const sample_trace_event& event) noexcept;

}  // namespace sample::instrument

// The program's channels: words of its own that are 0 while they are on.
//
// Its modules add theirs when they are loaded, and take them back before they go.
// Async-signal-safe, thread-safe.
#pragma once

#include "sample/trace_abi.h"

namespace sample::instrument {

/// Defines the channel, and switches it on if the session wants it.
void add_channel(const sample_trace_channel& channel) noexcept;
/// Its word is not written to any more.
void remove_channel(const sample_trace_channel& channel) noexcept;

}  // namespace sample::instrument

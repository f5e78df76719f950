// The program's channels: words of its own that are 0 while they are on.
//
// Its modules add theirs when they are loaded, and take them back before they go. In between the
// collector switches them (capture/channel_table.h). Thread-safe. Not async-signal-safe.
#pragma once

#include "sample/trace_abi.h"
#include "sampler/capture/definition_store.h"

namespace sample::agent {

/// Defines the channel, and switches it on if the session wants it.
void add_channel(const sample_trace_channel& channel) noexcept;
/// Its word is not written to any more.
void remove_channel(const sample_trace_channel& channel) noexcept;

/// The process has joined: those that it has already, as the parent of a forked child had them, are
/// what the session wants, and the collector finds them from now on.
void hand_over_channels(capture::DefinitionStore& store) noexcept;

}  // namespace sample::agent

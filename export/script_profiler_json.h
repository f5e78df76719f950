// The script-profiler JSON, version 2, from a Profile; import/script_profiler_json.h reads it.
// docs/format-json.md has the format, how a native program maps to it, and the limits.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// Writes `profile`, durations floored to microseconds; counts, in a profile of an event, as they
/// are, with its name and unit in fields of ours. Two different functions that would share
/// (Source, Name, Line) under one node get different names, because known readers use that as a
/// key. Bytes that are not UTF-8 become U+FFFD. The sink's error if it fails. O(nodes + functions);
/// no recursion.
[[nodiscard]] Result<void> write_script_profiler_json(const callgraph::Profile& profile,
                                                      const Sink& sink);

}  // namespace sample::exports

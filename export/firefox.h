// The Firefox Profiler's processed profile format, version 66: docs/format-firefox.md.
//
// Source: firefox-devtools/profiler, src/types/profile.ts and the upgraders of
// src/profile-logic/processed-profile-versioning.ts up to version 66.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// Writes `profile`: one track a thread, with its samples at their times; without a timeline one
/// track a category, with one sample a node, all at time 0. Weights are milliseconds, exact to the
/// nanosecond, or counts of the profile's event. Bytes that are not UTF-8 become U+FFFD. The sink's
/// error if it fails. O(output); reads each series of samples once a column; no recursion.
[[nodiscard]] Result<void> write_firefox(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

// Chrome's JSON trace events, as Perfetto and chrome://tracing read them: samples as nested slices.
// docs/format-chrome.md has what goes where, and the limits.
// Source: "Trace Event Format" (the Chromium project's document), and Perfetto's reader of it.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// Begin and end events, properly nested, of each track (export/tracks.h), in microseconds with the
/// nanoseconds as their fraction; counters of samples and CPU use along real time. Times never go
/// back within a track. The sink's error if it fails. O(size of the output); no recursion.
[[nodiscard]] Result<void> write_chrome_trace(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

// pprof, the format of Go's profiler and of many tools that show profiles: a gzipped protocol
// buffer. What of a profile goes where is in docs/format-pprof.md.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// One sample for each stack, with its weight and its number of samples; with a timeline, for each
/// thread and stack. Errors: unsupported if the total exceeds 2^63 - 1, which is the most that the
/// format can hold; the sink's. O(samples + size of the output); no recursion.
[[nodiscard]] Result<void> write_pprof(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

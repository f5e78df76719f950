// speedscope's own file format: https://www.speedscope.app/file-format-schema.json.
// docs/format-speedscope.md has what goes where, and the limits.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// One "evented" profile a track (export/tracks.h), on the real time axis where there is one; one
/// frame a function, in the order of the functions. Frames' totals and selves in speedscope are
/// those of the functions, to the nanosecond. The sink's error if it fails. O(size of the output);
/// no recursion.
[[nodiscard]] Result<void> write_speedscope(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

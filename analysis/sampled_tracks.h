// A copy of a recording that shows its samples to viewers of the container, too: beside each thread
// another one, "worker (sampled)", whose zones are the functions on its stack.
//
// From one sample to the next, what both stacks share stays open. A stretch is as long as the
// sample weighs, and pauses are those of export/shared/tracks.h, so the totals of these zones are
// the callgraph's; inlined functions have zones of their own. The samples themselves are in the
// copy as they were: every verb reads it as it reads the recording.
#pragma once

#include "callgraph/profile.h"
#include "core/fd.h"
#include "core/result.h"

#include <string>

namespace sample::analysis {

/// The category of the zones that stand for functions.
inline constexpr const char* kSampledCategory = "sampled";
/// What such a thread is called behind its thread's name.
inline constexpr const char* kSampledMark = " (sampled)";

/// Writes the recording `path` to `file`, with the stacks of `profile`, which was loaded from it
/// with times. What the recording carries behind its end (names, code) goes along only into a
/// regular file. Errors: those of reading and writing a recording; unsupported for a file that is
/// none of ours, or is cut off, and for a profile without times.
[[nodiscard]] Result<void> write_sampled_tracks(const std::string& path,
                                                const callgraph::Profile& profile, Fd file);

}  // namespace sample::analysis

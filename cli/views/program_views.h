// The views of what programs say of themselves: zones, frames, counters, what they say in
// words, and events of their own. As the other views, they take values and make text or JSON; here
// durations and times in JSON are integer nanoseconds, as zones may be shorter than a microsecond.
#pragma once

#include "analysis/load_profile.h"
#include "cli/views/views.h"

#include <string>

namespace sample::cli {

/// By name, those with most time first; below them the regions.
[[nodiscard]] std::string zones_view(const analysis::ProgramRecording& recording,
                                     const ViewOptions& options);
/// Each kind of frame: how many, how long, a histogram and the slowest.
[[nodiscard]] std::string frames_view(const analysis::ProgramRecording& recording,
                                      const ViewOptions& options);
/// Each counter along time.
[[nodiscard]] std::string counters_view(const analysis::ProgramRecording& recording,
                                        const ViewOptions& options);
/// Bookmarks and log messages, by time.
[[nodiscard]] std::string log_view(const analysis::ProgramRecording& recording,
                                   const ViewOptions& options);
/// The program's own events, a line for each type.
[[nodiscard]] std::string events_view(const analysis::ProgramRecording& recording,
                                      const ViewOptions& options);

/// Memory by call stack, tag and heap: what was left at the end, the peak, and what came and went.
[[nodiscard]] std::string memory_view(const analysis::ProgramRecording& recording,
                                      const ViewOptions& options);

}  // namespace sample::cli

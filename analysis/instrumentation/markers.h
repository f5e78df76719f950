// What a program said, along the time of a profile: for exports that have a place for it.
#pragma once

#include "analysis/instrumentation/moments.h"
#include "analysis/instrumentation/program_events.h"
#include "analysis/instrumentation/zone_slices.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"

#include <cstdint>
#include <vector>

namespace sample::analysis {

/// Who a recording was of before some were chosen: events know threads and processes by these.
struct Everybody {
    std::vector<trace::Thread> threads;  ///< [id.value - 1].
    std::vector<std::uint32_t> pids;     ///< The same, of processes.
};

/// Puts what `events` and `zones` have into `profile`, which was made of `recording`. Zones, flows
/// and counters of threads and processes that the profile lacks are left out; what else is of such
/// a thread is of none. Of regions those that begin in `moments`. Of how many zones and flows there
/// was no room for, a note says.
void add_markers(callgraph::Profile& profile, const callgraph::Recording& recording,
                 const Everybody& everybody, const ProgramEvents& events, const ZoneSlices& zones,
                 const Moments& moments);

}  // namespace sample::analysis

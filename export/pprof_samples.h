// The samples of a pprof file: what was spent in each stack itself, by thread where that is known.
#pragma once

#include "callgraph/profile.h"
#include "export/pprof_locations.h"
#include "export/pprof_stream.h"

namespace sample::exports::pprof {

/// Values are the number of samples and their weight; a booking is weight without a sample. Labels
/// say the category and, with a timeline, thread, tid, process and pid.
void write_samples(const callgraph::Profile& profile, const Locations& locations, Stream& out);

}  // namespace sample::exports::pprof

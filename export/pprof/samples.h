// The samples of a pprof file, and the places in code that they name.
#pragma once

#include "callgraph/profile.h"
#include "export/pprof/stream.h"

namespace sample::exports::pprof {

/// Writes what was spent in each stack itself, by thread where that is known, and before it every
/// Location of the profile. Functions have their FunctionIds, mappings their indices into
/// Profile::modules. Values are the number of samples and their weight; a booking is weight without
/// a sample. Labels say the category and, with a timeline, thread, tid, process and pid.
/// O(samples + nodes × inlined frames of each); no recursion.
void write_samples(const callgraph::Profile& profile, Stream& out);

}  // namespace sample::exports::pprof

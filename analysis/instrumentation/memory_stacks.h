// The call stacks of allocations, named.
#pragma once

#include "analysis/instrumentation/memory.h"
#include "callgraph/recording.h"
#include "core/symbols.h"

#include <vector>

namespace sample::analysis {

/// `symbols`: of recording.addresses(). Stacks of the same names are one. Those with most live
/// bytes first, then those that allocated most; the frames of memory management alone (operator new
/// and its kin) are left out.
[[nodiscard]] std::vector<MemoryStack> name_stacks(const Memory& memory,
                                                   const callgraph::Recording& recording,
                                                   const Symbols& symbols);

}  // namespace sample::analysis

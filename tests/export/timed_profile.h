// A small Profile with all that an export can show, for the tests of the formats that show it.
#pragma once

#include "callgraph/profile.h"

namespace sample::exports {

/// By lines, with a timeline; 11.5 ms in two threads of two processes:
///
///     main (category)
///       run() run.cpp:10, at line 12, 2 ms and 2 samples
///         step</script>, inlined, at line 31, 1 ms and 1 sample
///           GC
///             malloc libc.so.6, 3 ms and 3 samples
///         run() at line 14 (recursion), 1 ms and 1 sample
///         [not sampled], 0.5 ms booked
///     worker (category)
///       made by a JIT, in a plug-in, 3 ms and 3 samples
///       [kernel, caller unseen], 1 ms and 1 sample
///
/// The first thread sleeps from 4 to 50 ms.
[[nodiscard]] callgraph::Profile timed_profile();

}  // namespace sample::exports

// Callgrind's format, which callgrind_annotate and KCachegrind read: a text of functions, what each
// line of them cost, and what the calls from there cost. docs/format-callgrind.md has the details.
//
// Both readers take the calls into a function for its inclusive cost. So a stack is counted at the
// call that enters a function first, seen from the root, and at no call that enters it again: then
// the calls into each function add up to its total, recursion counted once, and every such call was
// really seen. Each category is a function that calls, so that no function is without a caller.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// The sink's error if it fails. O(nodes log nodes + size of the output); no recursion.
[[nodiscard]] Result<void> write_callgrind(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

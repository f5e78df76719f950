// Folded stacks, the text that flame-graph scripts read: one line a stack, "category;main;work
// 123".
//
// The value is what was spent in the stack's leaf itself: time, or what the profile counts. A ';'
// in a name becomes ':', and control characters become spaces. Microseconds are the differences of
// the floored running sum, so that the lines add up to the floored total of the profile, not to a
// little less for each line. Source: the stackcollapse scripts of FlameGraph.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

#include <cstdint>

namespace sample::exports {

enum class FoldedUnit : std::uint8_t {
    weight,  ///< Microseconds, or the count in a profile of an event.
    samples,
};

/// Lines whose value is 0 are left out. The sink's error if it fails. O(size of the output); no
/// recursion.
[[nodiscard]] Result<void> write_folded(const callgraph::Profile& profile, const Sink& sink,
                                        FoldedUnit unit = FoldedUnit::weight);

}  // namespace sample::exports

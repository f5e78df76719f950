// Names for readers that tell the children of a node apart by (Source, Name, Line) alone, and lose
// one of two that share it.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <vector>

namespace sample::exports {

/// Each function's name, [id - 1]. Where two functions with the same source, name and line are
/// children of one node, all but the first are called differently: " [native]", " [plugin]" or
/// " [module]" says what the difference is, else " (2)". Such names are not used by any other
/// function of the same source and line.
[[nodiscard]] std::vector<std::string> names_unique_among_siblings(
    const callgraph::Profile& profile);

}  // namespace sample::exports

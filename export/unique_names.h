// Names for readers to whom two functions with the same name and source file are one.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <vector>

namespace sample::exports {

/// Each function's label, [id - 1]. Of several functions with the same label and source file, all
/// but the first are called differently: " [native]", " [plugin]" or " [module]" says what the
/// difference is, else " (2)". O(functions).
[[nodiscard]] std::vector<std::string> unique_names(const callgraph::Profile& profile);

}  // namespace sample::exports

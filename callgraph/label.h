// What a function is called wherever one line has to name it.
#pragma once

#include "callgraph/profile.h"

#include <string>

namespace sample::callgraph {

/// Its name; without one "source:line"; without both "<anonymous>".
[[nodiscard]] std::string label(const Function& function);

}  // namespace sample::callgraph

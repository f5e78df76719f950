// What a function is called wherever one line has to name it.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <string_view>

namespace sample::callgraph {

/// Its name; without one "source:line"; without both "<anonymous>".
[[nodiscard]] std::string label(const Function& function);

/// Whether `name` is its whole name, its name without arguments, or that without its scope ("run"
/// for "pool::Worker::run(int)").
[[nodiscard]] bool is_named(const Function& function, std::string_view name);

}  // namespace sample::callgraph

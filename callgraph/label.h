// What a function is called wherever one line has to name it.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <string_view>

namespace sample::callgraph {

/// Its name; without one, or with one of blanks, "source:line"; without both "<anonymous>".
[[nodiscard]] std::string label(const Function& function);

/// Whether it stands for what has no stack, "[not sampled]", and is no code.
[[nodiscard]] bool is_without_stack(const Function& function);

/// A JIT compiler's names follow no language's rules, "LazyCompile:*sum (a, b) app.js:1", nor do
/// those of zones.
[[nodiscard]] bool is_named_by_a_runtime(const Function& function);

/// What a node of ours stands for, "[not sampled]" or "[kernel]"; empty for other names.
[[nodiscard]] std::string_view meaning_of(std::string_view name);

/// Whether `name` is its whole name, its name without arguments, or that without its scope ("run"
/// for "pool::Worker::run(int)").
[[nodiscard]] bool is_named(const Function& function, std::string_view name);

}  // namespace sample::callgraph

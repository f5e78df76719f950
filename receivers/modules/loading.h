// Finds, checks and sets up profiler modules.
#pragma once

#include "sample/profiler_module_abi.h"

namespace sample::modules {

/// As sample_profiler_load(). Not async-signal-safe.
[[nodiscard]] bool load(const char* description) noexcept;

/// All of a list, which `;` separates; null: none.
void load_list(const char* list) noexcept;

/// In a forked child, where nobody else loads anything.
void forget_loading() noexcept;

/// Keeps the library that lies at `address` for as long as the process lives, and returns the name
/// of the module that it is, or of its file.
sample_module_name keep_library(const void* address) noexcept;

}  // namespace sample::modules

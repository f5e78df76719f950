// Finds, checks and sets up profiler modules.
#pragma once

namespace sample::modules {

/// As sample_profiler_load(). Not async-signal-safe.
[[nodiscard]] bool load(const char* description) noexcept;

/// All of a list, which `;` separates; null: none.
void load_list(const char* list) noexcept;

/// In a forked child, where nobody else loads anything.
void forget_loading() noexcept;

/// Keeps the library that lies at `address` for as long as the process lives.
void keep_library(const void* address) noexcept;

}  // namespace sample::modules

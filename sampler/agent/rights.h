// Which system calls change what the calling thread may do. See wrap_rights.cpp.
#pragma once

namespace sample::agent {

/// Whether the sampling thread has to be gone while the calling thread makes this one, whose first
/// arguments are `a` and `b`.
/// Async-signal-safe.
[[nodiscard]] bool changes_rights(long number, long a, long b) noexcept;

}  // namespace sample::agent

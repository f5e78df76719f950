// Who waits for locks and conditions. locks.cpp stands before their functions.
#pragma once

namespace sample::modules {

/// Looks the functions up: a forked child could wait for the loader's lock for ever.
void find_lock_functions() noexcept;

/// Whether the program's calls come by here: not where the host was loaded late.
[[nodiscard]] bool sees_locks() noexcept;

}  // namespace sample::modules

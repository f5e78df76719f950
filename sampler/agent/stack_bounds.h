// The main thread's stack, which no thread start tells us of.
#pragma once

namespace sample::agent {

/// Tells capture the bounds of the calling thread's stack, if it is the main thread. Not
/// async-signal-safe.
void set_main_stack_bounds() noexcept;

}  // namespace sample::agent

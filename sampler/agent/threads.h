// What the thread wrapper needs once. See wrap_threads.cpp.
#pragma once

namespace sample::agent {

/// Makes the key whose destructor notices a thread's end. Not async-signal-safe.
void set_up_threads() noexcept;

}  // namespace sample::agent

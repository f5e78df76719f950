// The agent in a program that was not started with it (sample_agent_load of sample/profiler.h, or
// sample attach --inject): it comes by dlopen, behind libc, so the program's calls do not pass
// through wrap/.
//
// What relies on those is done without here. Samples come by the sampling thread alone, whose
// signal is ignored by default: nothing closes a gate before an exec, and a late signal harms no
// new image. As nobody tells of a dlclose, the libraries that are there stay for good, and of those
// that come later no table is read: a stack breaks off in them. docs/profiler-api.md says what that
// means for users.
#pragma once

#include "sampler/control/invitation.h"

namespace sample::agent {

/// To be called first, in the constructor: in a later one's the program may have loaded more.
void look_whether_late() noexcept;
[[nodiscard]] bool is_loaded_late() noexcept;

/// No dlclose unmaps a library that is loaded now. Takes the loader's lock. Not async-signal-safe.
void keep_libraries() noexcept;

/// What `sample attach --inject` has left for the thread that loads us; null: nobody brings us in.
/// Async-signal-safe.
[[nodiscard]] control::Invitation* find_invitation() noexcept;

}  // namespace sample::agent

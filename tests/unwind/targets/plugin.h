// Libraries that the walking tests load: one by dlopen, one with the program itself.
#pragma once

#include "unwind/walk/walk.h"

namespace sample::unwind::testing {

using PluginCall = void(void (*)());

/// What a walk found in the constructor of the library that is loaded with the program.
[[gnu::visibility("default")]] const WalkResult& preloaded_result();

}  // namespace sample::unwind::testing

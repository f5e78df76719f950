// The threads that a player has told of, until each of them says something itself: only a thread
// can name itself in the recording.
#pragma once

#include "sample/unity/IUnityProfilerTypes.h"

namespace sample::unity {

/// The player may tell of any thread on any other.
void remember_thread(const UnityProfilerThreadDesc& thread) noexcept;

/// Of the calling thread, once: if it was told of, by the number that the kernel or libc knows it
/// by.
void name_this_thread() noexcept;

}  // namespace sample::unity

// The interfaces that the host gives plug-ins: tables of C functions.
#pragma once

#include "sample/unity/IUnityInterface.h"
#include "sample/unity/IUnityLog.h"
#include "sample/unity/IUnityMemoryManager.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"

namespace sample::unity {

[[nodiscard]] IUnityProfiler& profiler() noexcept;
[[nodiscard]] IUnityProfilerV2& profiler_v2() noexcept;
[[nodiscard]] IUnityProfilerCallbacks& profiler_callbacks() noexcept;
[[nodiscard]] IUnityProfilerCallbacksV2& profiler_callbacks_v2() noexcept;
[[nodiscard]] IUnityLog& plugin_log() noexcept;
[[nodiscard]] IUnityMemoryManager& memory_manager() noexcept;

/// What UnityPluginLoad is given. Takes GUIDs by value, as C passes them, and by reference, as C++
/// does.
[[nodiscard]] IUnityInterfaces& registry() noexcept;

/// Unregisters what is registered with code from there: a plug-in goes that has left it. Returns
/// how many callbacks.
int unregister_code(const void* begin, const void* end) noexcept;

}  // namespace sample::unity

// Plug-ins that misbehave, one a macro.
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

IUnityProfilerCallbacks* g_callbacks = nullptr;
[[maybe_unused]] int g_calls = 0;

[[maybe_unused]] void on_event(const UnityProfilerMarkerDesc* marker,
                               UnityProfilerMarkerEventType /*type*/, std::uint16_t /*count*/,
                               const UnityProfilerMarkerData* /*data*/, void* /*user*/) {
    ++g_calls;
#ifdef THROWS_IN_CALLBACK
    throw std::runtime_error{marker->name};
#elif defined(UNREGISTERS_INSIDE)
    std::printf("call %d of %s\n", g_calls, marker->name);
    std::fflush(stdout);
    g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
#else
    static_cast<void>(marker);
#endif
}

[[maybe_unused]] void on_marker(const UnityProfilerMarkerDesc* marker, void* /*user*/) {
#ifdef REGISTERS_FIVE_TIMES
    for (int i = 0; i < 5; ++i) {
        const int refused =
            g_callbacks->RegisterMarkerEventCallback(marker, on_event, &g_calls + i);
        if (std::strcmp(marker->name, "outer") == 0) {
            std::printf("registration %d: %d\n", i + 1, refused);
        }
    }
    std::fflush(stdout);
#else
    g_callbacks->RegisterMarkerEventCallback(marker, on_event, nullptr);
#endif
}

}  // namespace

#ifdef LINGERS_IN_CALLBACK
// For who loads it.
extern "C" {
UNITY_INTERFACE_EXPORT std::atomic<bool> has_come{false};
UNITY_INTERFACE_EXPORT std::atomic<bool> may_go{false};
}

namespace {

void on_frame(void* /*user*/) {
    has_come = true;
    while (!may_go) {
    }
}

}  // namespace
#endif

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginLoad(IUnityInterfaces* interfaces) {
    g_callbacks = interfaces->Get<IUnityProfilerCallbacks>();
#ifdef THROWS_IN_LOAD
    g_callbacks->RegisterCreateMarkerCallback(on_marker, nullptr);
    throw std::runtime_error{"no"};
#elif defined(LINGERS_IN_CALLBACK)
    g_callbacks->RegisterFrameCallback(on_frame, nullptr);
#elif defined(LEAVES_COUNTER)
    auto* const value =
        static_cast<std::int64_t*>(interfaces->Get<IUnityProfilerV2>()->CreateCounterValue(
            kUnityProfilerCategoryOther, "left counter", 0, kUnityProfilerMarkerDataTypeInt64, 0,
            sizeof(std::int64_t), kUnityProfilerCounterFlushOnEndOfFrame, nullptr, nullptr,
            nullptr));
    std::printf("value %lld\n", static_cast<long long>((*value)++));
#elif defined(FREES_ITS_NAME)
    auto* const profiler = interfaces->Get<IUnityProfiler>();
    char* const name = static_cast<char*>(std::malloc(64));
    std::strcpy(name, "freed name");
    const UnityProfilerMarkerDesc* marker = nullptr;
    profiler->CreateMarker(&marker, name, kUnityProfilerCategoryOther, 0, 0);
    std::memset(name, 'x', 63);
    std::free(name);
    profiler->BeginSample(marker);
    profiler->EndSample(marker);
    // What is not there.
    profiler->EmitEvent(nullptr, kUnityProfilerMarkerEventTypeBegin, 0, nullptr);
    profiler->EmitEvent(marker, 99, 3, nullptr);
    profiler->CreateMarker(nullptr, nullptr, 999, 0xffff, -1);
    profiler->SetMarkerMetadataName(marker, -1, nullptr, 0, 0);
    profiler->RegisterThread(nullptr, nullptr, nullptr);
    std::printf("nothing there: %d\n",
                static_cast<int>(interfaces->GetInterfaceSplit(1, 2) == nullptr &&
                                 interfaces->GetInterface({3, 4}) == nullptr));
    std::fflush(stdout);
#else
    g_callbacks->RegisterCreateMarkerCallback(on_marker, nullptr);
#endif
}

#if !defined(HAS_NO_UNLOAD)
extern "C" void UNITY_INTERFACE_EXPORT UnityPluginUnload() {
#ifdef THROWS_IN_LOAD
    std::puts("unloaded though it threw");
#endif
#ifdef LINGERS_IN_CALLBACK
    g_callbacks->UnregisterFrameCallback(on_frame, nullptr);
#elif !defined(LEAVES_CALLBACKS)
    g_callbacks->UnregisterCreateMarkerCallback(on_marker, nullptr);
    g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
#endif
}
#endif

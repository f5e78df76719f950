// The same in C++: GUIDs by reference, methods, counters as objects.
#include "says.h"

#include <cstdio>

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginLoad(IUnityInterfaces* interfaces) {
    auto* const profiler = interfaces->Get<IUnityProfilerV2>();
    auto* const old_profiler = interfaces->Get<IUnityProfiler>();
    std::printf("available %d\n", old_profiler->IsAvailable());
    UnityProfilerCategoryId category = 0;
    profiler->CreateCategory(&category, "C++ category", 0);
    const UnityProfilerMarkerDesc* marker = nullptr;
    profiler->CreateMarker(&marker, "C++ marker", category, kUnityProfilerMarkerFlagDefault, 1);
    const UnityProfilerMarkerDesc* same = nullptr;
    old_profiler->CreateMarker(&same, "C++ marker", category, kUnityProfilerMarkerFlagDefault, 1);
    std::printf("same marker %d\n", static_cast<int>(same == marker));
    for (int i = 0; i < kSaysCalls; ++i) {
        profiler->BeginSample(marker);
        old_profiler->EndSample(marker);
    }
    auto counter =
        profiler->CreateCounter<double>(category, "C++ load", kUnityProfilerMarkerDataUnitPercent);
    counter = 1.5;
    counter += 1;
    ++counter;
    counter.Flush();
    // Of the marker's name.
    auto calls =
        profiler->CreateCounter<double>(category, "C++ marker", kUnityProfilerMarkerDataUnitCount);
    calls = kSaysCalls;
    calls.Flush();
    std::fflush(stdout);
}

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginUnload() {
    std::printf("C++ unloaded\n");
    std::fflush(stdout);
}

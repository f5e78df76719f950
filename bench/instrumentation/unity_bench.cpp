// What a marker's begin and end cost a plug-in that runs in libsample-unity-host.so, and what a
// zone of the program costs that a plug-in is told of: with one callback registered, and with none,
// beside a zone's own cost.
//
// usage: unity_bench LENDS_PLUGIN [ROUNDS]
//
// Run it by `sample --trace default --freq off`, so that what is said is recorded as well; bare, it
// shows the host alone. Printed is what a begin and its end take, and what that is beyond a zone's
// own cost.
#include "bench/rounds.h"
#include "sample/trace.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"
#include "sample/unity/host.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr long kRounds = 2'000;

IUnityProfiler* g_profiler = nullptr;
IUnityProfilerCallbacks* g_callbacks = nullptr;
const UnityProfilerMarkerDesc* g_marker = nullptr;
long g_calls = 0;

void on_event(const UnityProfilerMarkerDesc* /*marker*/, UnityProfilerMarkerEventType /*type*/,
              std::uint16_t /*count*/, const UnityProfilerMarkerData* /*data*/, void* user) {
    ++*static_cast<long*>(user);
}

/// Of every marker.
void on_marker(const UnityProfilerMarkerDesc* marker, void* user) {
    g_callbacks->RegisterMarkerEventCallback(marker, on_event, user);
}

void zone() {
    SAMPLE_TRACE_ZONE("zone");
}

void marker() {
    g_profiler->BeginSample(g_marker);
    g_profiler->EndSample(g_marker);
}

void register_one() {
    g_callbacks->RegisterCreateMarkerCallback(on_marker, &g_calls);
}

void unregister() {
    g_callbacks->UnregisterCreateMarkerCallback(on_marker, &g_calls);
    g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
}

bool begin(const char* lends) {
    void* const plugin = sample_unity_load(lends) == 0 ? dlopen(lends, RTLD_NOW) : nullptr;
    auto* const lent = plugin == nullptr
                           ? nullptr
                           : static_cast<IUnityInterfaces**>(dlsym(plugin, "lent_interfaces"));
    if (lent == nullptr) {
        return false;
    }
    g_profiler = (*lent)->Get<IUnityProfiler>();
    g_callbacks = (*lent)->Get<IUnityProfilerCallbacks>();
    return g_profiler->CreateMarker(&g_marker, "marker", kUnityProfilerCategoryOther, 0, 0) == 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2 || !begin(words[1])) {
        std::fprintf(stderr, "usage: unity_bench LENDS_PLUGIN [ROUNDS]\n");
        return 2;
    }
    const long rounds = count > 2 ? std::strtol(words[2], nullptr, 10) : kRounds;
    sample::bench::Case cases[] = {
        {"zone", zone},
        {"zone, one callback", zone, register_one, unregister},
        {"marker", marker},
        {"marker, one callback", marker, register_one, unregister},
    };
    sample::bench::play_rounds(cases, rounds);
    std::printf("%ld calls; %s\n", g_calls,
                SAMPLE_TRACE_IS_ON(sample_trace_cpu) != 0 ? "recorded" : "not recorded");
    return 0;
}

// Callbacks are registered and unregistered once a frame, while four threads emit.
//
// Each registration must be told of pairs alone, of each marker, until it is unregistered, and of
// nothing afterwards. (Markers are unregistered one after the other.) Threads emit by
// IUnityProfiler, and by sample/trace.h, which tells plug-ins only where the agent is.
//
// usage: unity_storm SECONDS LENDS_PLUGIN [PLUGIN]   LENDS_PLUGIN: lends its interfaces
// Exit status: 0 fine, 1 something was told wrongly (a line says what), 2 could not begin.
#include "sample/trace.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"
#include "sample/unity/host.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

namespace {

constexpr int kEmitters = 4;

struct Registration {
    std::atomic<int> markers{0};  ///< That it was told of.
    std::atomic<bool> is_over{false};
};

struct Heard {
    const Registration* registration = nullptr;
    std::array<const UnityProfilerMarkerDesc*, 8> open{};
};

IUnityInterfaces* g_interfaces = nullptr;
IUnityProfiler* g_profiler = nullptr;
IUnityProfilerCallbacks* g_callbacks = nullptr;
std::array<const UnityProfilerMarkerDesc*, 2> g_markers{};
std::atomic<long> g_begins{0};
std::atomic<long> g_ends{0};
std::atomic<long> g_wrong{0};
thread_local Heard t_heard;
thread_local bool t_is_inside = false;

void complain(const char* what) {
    if (g_wrong.fetch_add(1) == 0) {
        std::printf("wrong: %s\n", what);
    }
}

/// Those that are open have a place; null: one that is free.
const UnityProfilerMarkerDesc** place_of(const UnityProfilerMarkerDesc* marker) {
    auto* const found = std::find(t_heard.open.begin(), t_heard.open.end(), marker);
    return found == t_heard.open.end() ? nullptr : found;
}

void on_begin(const UnityProfilerMarkerDesc* marker) {
    ++g_begins;
    if (place_of(marker) != nullptr) {
        complain("a zone begins again that has ended unheard");
    } else {
        *place_of(nullptr) = marker;
    }
}

void on_end(const UnityProfilerMarkerDesc* marker) {
    ++g_ends;
    if (place_of(marker) == nullptr) {
        complain("an end without a beginning");
    } else {
        *place_of(marker) = nullptr;
    }
}

void on_event(const UnityProfilerMarkerDesc* marker, UnityProfilerMarkerEventType type,
              std::uint16_t /*count*/, const UnityProfilerMarkerData* /*data*/, void* user) {
    auto* const registration = static_cast<Registration*>(user);
    if (registration->is_over) {
        complain("a call behind the end of its registration");
    }
    if (t_is_inside) {
        complain("a call inside another one");
    }
    t_is_inside = true;
    if (t_heard.registration != registration) {
        t_heard = {};
        t_heard.registration = registration;
    }
    if (type == kUnityProfilerMarkerEventTypeBegin) {
        on_begin(marker);
    } else if (type == kUnityProfilerMarkerEventTypeEnd) {
        on_end(marker);
    }
    t_is_inside = false;
}

void on_marker(const UnityProfilerMarkerDesc* marker, void* user) {
    if (std::strstr(marker->name, "outer") != nullptr ||
        std::strstr(marker->name, "inner") != nullptr) {
        g_callbacks->RegisterMarkerEventCallback(marker, on_event, user);
        ++static_cast<Registration*>(user)->markers;
    }
}

void emit() {
    {
        SAMPLE_TRACE_ZONE("trace outer");
        SAMPLE_TRACE_ZONE("trace inner");
    }
    for (int i = 0; i < 4; ++i) {
        g_profiler->BeginSample(g_markers[0]);
        g_profiler->BeginSample(g_markers[1]);
        g_profiler->EndSample(g_markers[1]);
        g_profiler->EndSample(g_markers[0]);
    }
}

bool begin(const char* lends) {
    if (sample_unity_load(lends) != 0) {
        return false;
    }
    void* const plugin = dlopen(lends, RTLD_NOW | RTLD_NOLOAD);
    g_interfaces = *static_cast<IUnityInterfaces**>(dlsym(plugin, "lent_interfaces"));
    g_profiler = g_interfaces->Get<IUnityProfiler>();
    g_callbacks = g_interfaces->Get<IUnityProfilerCallbacks>();
    g_profiler->CreateMarker(&g_markers[0], "outer", kUnityProfilerCategoryOther, 0, 0);
    g_profiler->CreateMarker(&g_markers[1], "inner", kUnityProfilerCategoryOther, 0, 0);
    return true;
}

/// Whoever is at telling of markers already goes on with it, so it may take a processor's turn.
void await_markers(const Registration& registration) {
    constexpr int kMostMs = 60'000;
    for (int waited = 0; registration.markers < static_cast<int>(g_markers.size()); ++waited) {
        if (waited == kMostMs) {
            complain("markers that are there are not told of");
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

/// Returns how many frames there were.
long play(std::chrono::seconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    std::deque<Registration> registrations;  // All are kept: late calls would find them.
    long frames = 0;
    while (std::chrono::steady_clock::now() < end) {
        Registration& now = registrations.emplace_back();
        sample_unity_next_frame();
        g_callbacks->RegisterCreateMarkerCallback(on_marker, &now);
        await_markers(now);
        std::this_thread::sleep_for(std::chrono::microseconds{300});
        g_callbacks->UnregisterCreateMarkerCallback(on_marker, &now);
        if (g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event,
                                                       frames % 2 == 0 ? nullptr : &now) != 0) {
            complain("nothing was registered");
        }
        now.is_over = true;
        ++frames;
    }
    return frames;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3 || !begin(words[2]) || (count > 3 && sample_unity_load(words[3]) != 0)) {
        std::fprintf(stderr, "usage: unity_storm SECONDS LENDS_PLUGIN [PLUGIN]\n");
        return 2;
    }
    std::atomic<bool> is_over{false};
    std::vector<std::thread> emitters;
    emitters.reserve(kEmitters);
    for (int i = 0; i < kEmitters; ++i) {
        emitters.emplace_back([&is_over] {
            while (!is_over.load(std::memory_order_relaxed)) {
                emit();
            }
        });
    }
    const long frames = play(std::chrono::seconds{std::strtol(words[1], nullptr, 10)});
    is_over = true;
    for (std::thread& each : emitters) {
        each.join();
    }
    std::printf("%ld frames, %ld begins, %ld ends, %ld wrong\n", frames, g_begins.load(),
                g_ends.load(), g_wrong.load());
    return g_wrong == 0 && g_begins > frames && frames > 10 ? 0 : 1;
}

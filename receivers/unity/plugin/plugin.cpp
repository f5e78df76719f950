// libsample-unity.so: a native plug-in for Unity players on Linux, which writes what they say of
// themselves into the recording. docs/unity.md.
//
// Without the agent it registers nothing. With it, it looks once a frame whether zones are wanted,
// and is registered for markers only while they are.
#include "receivers/unity/plugin/said_threads.h"
#include "receivers/unity/recorded_values.h"
#include "sample/trace.h"
#include "sample/unity/IUnityProfilerCallbacks.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sample::unity {
namespace {

constexpr std::size_t kMostColours = 1024;

SAMPLE_TRACE_COUNTER(gc_allocated, "GC.Alloc", MEMORY);

/// What an event's callback is given with it.
struct Told {
    std::uint32_t definition = 0;  ///< A zone's, or a counter's.
    bool is_default = false;       ///< Profiler.Default, whose name comes with each event.
    bool is_gc_alloc = false;
    std::atomic<bool> is_counter_defined{false};
};

struct Category {
    std::atomic<const char*> name{nullptr};
    std::uint32_t colour = SAMPLE_TRACE_NO_COLOUR;
};

constinit IUnityProfilerCallbacks* g_callbacks = nullptr;
constinit IUnityProfilerCallbacksV2* g_callbacks_v2 = nullptr;
constinit std::array<Category, kMostColours> g_categories{};
constinit bool g_is_capturing = false;
constinit bool g_is_frame_open = false;
/// Of the zones that the thread has begun: ends of others are not its.
constinit thread_local std::uint32_t t_open = 0;

void begin_default(MarkerValues values) noexcept {
    std::array<char, 480> name{};
    for (const UnityProfilerMarkerData& each : values) {
        if (each.type == kUnityProfilerMarkerDataTypeString16 && each.ptr != nullptr) {
            to_utf8(each, {name.data(), name.size() - 1});
        }
    }
    sample_trace_begin_dynamic_zone_(name[0] == '\0' ? "Profiler.Default" : name.data(), nullptr,
                                     SAMPLE_TRACE_NO_COLOUR);
}

void begin(const Told& told, MarkerValues values) noexcept {
    ++t_open;
    if (told.is_default) {
        begin_default(values);
    } else if (values.empty()) {
        sample_trace_module.functions->begin_zone(told.definition);
    } else {
        const RecordedValues recorded{nullptr, values};
        sample_trace_module.functions->begin_noted_zone(told.definition, recorded.data(),
                                                        recorded.size());
    }
}

void end() noexcept {
    if (t_open != 0) {
        --t_open;
        sample_trace_module.functions->end_zone();
    }
}

void count(Told& told, const UnityProfilerMarkerDesc& marker,
           const UnityProfilerMarkerData& value) noexcept {
    Number number;
    if (sample_trace_counter != 0 || !read_number(value, number)) {
        return;
    }
    if (!told.is_counter_defined.load(std::memory_order_acquire)) {
        told.definition = sample_trace_define_dynamic_(
            number.is_real ? SAMPLE_TRACE_KIND_REAL : SAMPLE_TRACE_KIND_INTEGER, marker.name,
            nullptr, 0);
        told.is_counter_defined.store(true, std::memory_order_release);
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits,
                number.is_real ? static_cast<const void*>(&number.real)
                               : static_cast<const void*>(&number.integer),
                sizeof bits);
    sample_trace_module.functions->count(told.definition, bits);
}

void happen(Told& told, const UnityProfilerMarkerDesc& marker, MarkerValues values) noexcept {
    Number number;
    if (told.is_gc_alloc && !values.empty() && read_number(values.front(), number)) {
        SAMPLE_TRACE_ADD(gc_allocated, number.integer);
    } else if ((marker.flags & kUnityProfilerMarkerFlagCounter) != 0 && !values.empty()) {
        count(told, marker, values.front());
    } else {
        begin(told, values);
        end();
    }
}

void on_event(const UnityProfilerMarkerDesc* marker, UnityProfilerMarkerEventType type,
              std::uint16_t count, const UnityProfilerMarkerData* data, void* user) noexcept {
    auto& told = *static_cast<Told*>(user);
    const MarkerValues values{data, data == nullptr ? std::size_t{0} : count};
    name_this_thread();
    if (type == kUnityProfilerMarkerEventTypeBegin) {
        begin(told, values);
    } else if (type == kUnityProfilerMarkerEventTypeEnd) {
        end();
    } else if (type == kUnityProfilerMarkerEventTypeSingle) {
        happen(told, *marker, values);
    }
}

/// Once for each marker and capture. What it makes is kept: an event may be under way.
void on_marker(const UnityProfilerMarkerDesc* marker, void* /*user*/) noexcept {
    auto* const told = new (std::nothrow) Told;
    if (told == nullptr || marker->name == nullptr) {
        delete told;
        return;
    }
    const Category& category = g_categories[marker->categoryId % kMostColours];
    told->is_default = std::strcmp(marker->name, "Profiler.Default") == 0;
    told->is_gc_alloc = std::strcmp(marker->name, "GC.Alloc") == 0;
    if ((marker->flags & kUnityProfilerMarkerFlagCounter) == 0) {
        told->definition = sample_trace_define_dynamic_(
            SAMPLE_TRACE_KIND_ZONE, marker->name, category.name.load(std::memory_order_acquire),
            category.colour);
    }
    g_callbacks->RegisterMarkerEventCallback(marker, on_event, told);
}

void on_category(const UnityProfilerCategoryDesc* category, void* /*user*/) noexcept {
    Category& told = g_categories[category->id % kMostColours];
    told.colour = category->rgbaColor >> 8U;
    told.name.store(category->name, std::memory_order_release);
}

void on_thread(const UnityProfilerThreadDesc* thread, void* /*user*/) noexcept {
    remember_thread(*thread);
}

void on_flow(UnityProfilerFlowEventType type, std::uint32_t number, void* /*user*/) noexcept {
    if (sample_trace_cpu == 0) {
        const std::uint32_t step = type == kUnityProfilerFlowEventTypeBegin ? 0
                                   : type == kUnityProfilerFlowEventTypeEnd ? 2
                                                                            : 1;
        sample_trace_module.functions->flow(number, step);
    }
}

void capture_if_wanted() noexcept {
    const bool is_wanted = sample_trace_cpu == 0;
    if (is_wanted == g_is_capturing) {
        return;
    }
    g_is_capturing = is_wanted;
    if (is_wanted) {
        g_callbacks->RegisterCreateMarkerCallback(on_marker, nullptr);
    } else {
        g_callbacks->UnregisterCreateMarkerCallback(on_marker, nullptr);
        g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
    }
}

void end_frame() noexcept {
    if (g_is_frame_open) {
        SAMPLE_TRACE_FRAME_END(SAMPLE_TRACE_MAIN_FRAME);
        g_is_frame_open = false;
    }
}

/// The next frame begins.
void on_frame(void* /*user*/) noexcept {
    capture_if_wanted();
    end_frame();
    SAMPLE_TRACE_FRAME_BEGIN(SAMPLE_TRACE_MAIN_FRAME);
    g_is_frame_open = true;
}

void subscribe() noexcept {
    g_callbacks->RegisterCreateCategoryCallback(on_category, nullptr);
    g_callbacks->RegisterCreateThreadCallback(on_thread, nullptr);
    g_callbacks->RegisterFrameCallback(on_frame, nullptr);
    if (g_callbacks_v2 != nullptr) {
        g_callbacks_v2->RegisterFlowEventCallback(on_flow, nullptr);
    }
    capture_if_wanted();
}

void unsubscribe() noexcept {
    g_callbacks->UnregisterFrameCallback(on_frame, nullptr);
    end_frame();
    if (g_is_capturing) {
        g_callbacks->UnregisterCreateMarkerCallback(on_marker, nullptr);
        g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
        g_is_capturing = false;
    }
    g_callbacks->UnregisterCreateCategoryCallback(on_category, nullptr);
    g_callbacks->UnregisterCreateThreadCallback(on_thread, nullptr);
    if (g_callbacks_v2 != nullptr) {
        g_callbacks_v2->UnregisterFlowEventCallback(on_flow, nullptr);
    }
}

void load(IUnityInterfaces& interfaces) noexcept {
    if (sample_trace_module.functions == nullptr) {
        return;
    }
    g_callbacks_v2 = interfaces.Get<IUnityProfilerCallbacksV2>();
    g_callbacks = interfaces.Get<IUnityProfilerCallbacks>();
    if (g_callbacks != nullptr) {
        subscribe();
    }
}

void unload() noexcept {
    if (g_callbacks != nullptr) {
        unsubscribe();
        g_callbacks = nullptr;
        g_callbacks_v2 = nullptr;
    }
}

}  // namespace
}  // namespace sample::unity

extern "C" void UnityPluginLoad(IUnityInterfaces* interfaces) {
    sample::unity::load(*interfaces);
}

extern "C" void UnityPluginUnload() {
    sample::unity::unload();
}

// IUnityProfiler and IUnityProfilerV2: what plug-ins say.
#include "receivers/unity/host/categories.h"
#include "receivers/unity/host/counters.h"
#include "receivers/unity/host/events.h"
#include "receivers/unity/host/interfaces.h"
#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/program.h"
#include "receivers/unity/host/recording.h"

#include <unistd.h>

namespace sample::unity {
namespace {

int is_available() noexcept {
    return is_release() ? 0 : 1;
}

int is_enabled() noexcept {
    return !is_release() && (records_zones() || awaited_events() != 0) ? 1 : 0;
}

/// Its zone in the recording, with the category's colour.
void define_zone(Marker& marker) noexcept {
    if (recording() == nullptr || marker.zone.load(std::memory_order_relaxed) != 0 ||
        (marker.desc.flags & kUnityProfilerMarkerFlagCounter) != 0) {
        return;
    }
    const UnityProfilerCategoryDesc& category = category_of(marker.desc.categoryId);
    marker.zone.store(sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_ZONE, marker.desc.name,
                                                   category.name, category.rgbaColor >> 8U),
                      std::memory_order_relaxed);
}

int create_marker(const UnityProfilerMarkerDesc** out, const char* name,
                  UnityProfilerCategoryId category, UnityProfilerMarkerFlags flags,
                  int /*values*/) noexcept {
    if (out == nullptr) {
        return kRefused;
    }
    *out = nullptr;
    Marker* const marker = name == nullptr || *name == '\0'
                               ? nullptr
                               : find_marker(name, category_of(category).id, flags);
    if (marker == nullptr) {
        return kRefused;
    }
    define_zone(*marker);
    *out = &marker->desc;
    return kDone;
}

int set_metadata_name(const UnityProfilerMarkerDesc* desc, int index, const char* name,
                      UnityProfilerMarkerDataType type, UnityProfilerMarkerDataUnit unit) noexcept {
    Marker* const marker = marker_of(desc);
    if (marker == nullptr || name == nullptr || index < 0 ||
        static_cast<std::size_t>(index) >= kMostValues) {
        return kRefused;
    }
    const char* const kept = keep_text(name);
    auto* const made = kept == nullptr ? nullptr : keep<ValueName>(ValueName{kept, type, unit});
    if (made == nullptr) {
        return kRefused;
    }
    marker->value_names[static_cast<std::size_t>(index)].store(made, std::memory_order_release);
    return kDone;
}

int register_this_thread(UnityProfilerThreadId* out, const char* group, const char* name) noexcept {
    ThreadRecord* const thread = ThreadRecord::current();
    if (thread == nullptr || name == nullptr) {
        return kRefused;
    }
    const std::uint64_t number = name_thread(*thread, group, name);
    if (out != nullptr) {
        *out = number;
    }
    if (recording() != nullptr) {
        recording()->name_thread(name);
        if (group != nullptr && *group != '\0') {
            recording()->group_thread(group);
        }
    }
    return kDone;
}

/// The thread keeps its name in the recording.
int unregister_this_thread(UnityProfilerThreadId number) noexcept {
    ThreadRecord* const thread = ThreadRecord::current();
    if (thread != nullptr && (number == 0 || number == static_cast<std::uint64_t>(::gettid()))) {
        thread->name = nullptr;
        thread->group = nullptr;
    }
    return kDone;
}

int create_category(UnityProfilerCategoryId* out, const char* name,
                    std::uint32_t /*unused*/) noexcept {
    if (out == nullptr || name == nullptr || *name == '\0') {
        return kRefused;
    }
    *out = find_category(name, SAMPLE_TRACE_NO_COLOUR);
    return kDone;
}

// NOLINTNEXTLINE(readability-function-size): the interface's.
void* create_counter_value(UnityProfilerCategoryId category, const char* name,
                           UnityProfilerMarkerFlags flags, UnityProfilerMarkerDataType type,
                           UnityProfilerMarkerDataUnit unit, std::size_t bytes,
                           UnityProfilerCounterFlags counter_flags,
                           UnityProfilerCounterStatePtrCallback activate,
                           UnityProfilerCounterStatePtrCallback deactivate, void* user) noexcept {
    void* const value =
        make_counter({category_of(category).id, name, flags, type, unit, bytes, counter_flags,
                      activate, deactivate, user, __builtin_return_address(0)});
    listen_as_registered();
    return value;
}

/// Both versions begin alike.
template <class Table, class... Further>
constexpr Table table_with(Further... further) noexcept {
    return {{}, emit, is_enabled, is_available, create_marker, set_metadata_name, further...};
}

}  // namespace

IUnityProfiler& profiler() noexcept {
    static constinit auto table =
        table_with<IUnityProfiler>(register_this_thread, unregister_this_thread);
    return table;
}

IUnityProfilerV2& profiler_v2() noexcept {
    static constinit auto table =
        table_with<IUnityProfilerV2>(create_category, register_this_thread, unregister_this_thread,
                                     create_counter_value, flush_counter);
    return table;
}

}  // namespace sample::unity

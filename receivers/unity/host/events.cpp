#include "receivers/unity/host/events.h"

#include "receivers/unity/host/counters.h"
#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/recording.h"
#include "receivers/unity/recorded_values.h"

#include <unistd.h>

#include <cstring>

namespace sample::unity {
namespace {

constinit Callbacks<> g_frame_callbacks;
constinit FlowCallbacks g_flow_callbacks;
constinit Threads g_threads;

/// To whoever was registered at `clock`.
[[gnu::always_inline]] inline void tell_event(ThreadRecord& thread, Marker& marker,
                                              UnityProfilerMarkerEventType type,
                                              MarkerValues values, std::uint64_t clock) {
    marker.events.tell(thread, clock, &marker.desc, type, static_cast<std::uint16_t>(values.size()),
                       values.data());
}

/// Apart, as it needs room on the stack.
[[gnu::noinline]] void record_noted_begin(const Marker& marker, MarkerValues values) {
    const RecordedValues recorded{&marker.value_names, values};
    recording()->begin_noted_zone(marker.zone.load(std::memory_order_relaxed), recorded.data(),
                                  recorded.size());
}

void record_begin(ThreadRecord& thread, const Marker& marker, MarkerValues values) {
    ++thread.recorded;
    if (values.empty()) {
        recording()->begin_zone(marker.zone.load(std::memory_order_relaxed));
    } else {
        record_noted_begin(marker, values);
    }
}

void record_end(ThreadRecord& thread) {
    // One that was not begun would end a zone of the program.
    if (thread.recorded != 0) {
        --thread.recorded;
        recording()->end_zone();
    }
}

// What is told is apart from what is recorded alone, which saves no registers.

[[gnu::noinline]] void tell_begin(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    const std::uint64_t clock = registration_clock();
    thread.push({&marker, clock, false});
    tell_event(thread, marker, kUnityProfilerMarkerEventTypeBegin, values, clock);
    if (records_zones()) {
        record_begin(thread, marker, values);
    }
}

[[gnu::noinline]] void tell_end(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    record_end(thread);
    const EndedZone ended = thread.pop_plugin(&marker);
    if (ended.marker != nullptr) {
        tell_event(thread, *ended.marker, kUnityProfilerMarkerEventTypeEnd, values, ended.clock);
    }
}

void emit_begin(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    if (marker.is_awaited() && !thread.is_in_callback()) {
        tell_begin(thread, marker, values);
    } else if (records_zones()) {
        record_begin(thread, marker, values);
    }
}

void emit_end(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    if (thread.has_open_of_plugins() && !thread.is_in_callback()) {
        tell_end(thread, marker, values);
    } else {
        record_end(thread);
    }
}

[[gnu::noinline]] void emit_single(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    single_program_event(thread, marker, values);
    if ((marker.desc.flags & kUnityProfilerMarkerFlagCounter) != 0 && !values.empty()) {
        record_counter_event(marker, values.front());
    } else if (records_zones()) {
        record_begin(thread, marker, values);
        record_end(thread);
    }
}

}  // namespace

void begin_program_zone(ThreadRecord& thread, Marker* marker, MarkerValues values,
                        std::uint64_t clock) {
    thread.push({marker, clock, true});
    if (marker != nullptr && marker->is_awaited()) {
        tell_event(thread, *marker, kUnityProfilerMarkerEventTypeBegin, values, clock);
    }
}

void end_program_zone(ThreadRecord& thread) {
    const EndedZone ended = thread.pop_program();
    if (ended.marker != nullptr && ended.marker->is_awaited()) {
        tell_event(thread, *ended.marker, kUnityProfilerMarkerEventTypeEnd, {}, ended.clock);
    }
}

void single_program_event(ThreadRecord& thread, Marker& marker, MarkerValues values) {
    if (marker.is_awaited() && !thread.is_in_callback()) {
        tell_event(thread, marker, kUnityProfilerMarkerEventTypeSingle, values,
                   registration_clock());
    }
}

void emit(const UnityProfilerMarkerDesc* desc, UnityProfilerMarkerEventType type,
          std::uint16_t count, const UnityProfilerMarkerData* values) {
    auto* const marker = reinterpret_cast<Marker*>(const_cast<UnityProfilerMarkerDesc*>(desc));
    if (marker == nullptr || !marker->is_available()) {
        return;
    }
    if (!marker->is_awaited() && !records_zones() && type != kUnityProfilerMarkerEventTypeEnd &&
        (marker->desc.flags & kUnityProfilerMarkerFlagCounter) == 0) {
        return;
    }
    ThreadRecord* const thread = ThreadRecord::current();
    if (thread == nullptr) {
        return;
    }
    const MarkerValues all{values, values == nullptr ? std::size_t{0} : count};
    switch (type) {
        case kUnityProfilerMarkerEventTypeBegin:
            emit_begin(*thread, *marker, all);
            break;
        case kUnityProfilerMarkerEventTypeEnd:
            emit_end(*thread, *marker, all);
            break;
        case kUnityProfilerMarkerEventTypeSingle:
            emit_single(*thread, *marker, all);
            break;
        default:
            break;
    }
}

Callbacks<>& frame_callbacks() noexcept {
    return g_frame_callbacks;
}

void begin_frame(ThreadRecord& thread) {
    flush_counters_of_frame(thread);
    g_frame_callbacks.tell(thread, kAnyClock);
}

FlowCallbacks& flow_callbacks() noexcept {
    return g_flow_callbacks;
}

Threads& threads() noexcept {
    return g_threads;
}

std::uint64_t name_thread(ThreadRecord& thread, const char* group, const char* name) noexcept {
    const auto number = static_cast<std::uint64_t>(::gettid());
    const auto is_new = [](const char* now, const char* before) {
        return now != nullptr && (before == nullptr || std::strcmp(now, before) != 0);
    };
    const bool has_new_name = is_new(name, thread.name);
    thread.group = is_new(group, thread.group) ? keep_text(group) : thread.group;
    thread.name = has_new_name ? keep_text(name) : thread.name;
    auto* const made = has_new_name ? keep<UnityProfilerThreadDesc>() : nullptr;
    if (made == nullptr || thread.name == nullptr) {
        return number;
    }
    *made = {number, thread.group == nullptr ? "" : thread.group, thread.name};
    bool is_there = false;
    {
        const RegistryLock lock;
        is_there = g_threads.append(made);
    }
    if (is_there) {
        g_threads.announce(thread);
    }
    return number;
}

}  // namespace sample::unity

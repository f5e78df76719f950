// Counters of plug-ins: their values lie in memory of the host, where the plug-in writes them, and
// are read when they are flushed.
#pragma once

#include "receivers/unity/host/markers.h"

namespace sample::unity {

/// What CreateCounterValue is asked for.
struct CounterRequest {
    UnityProfilerCategoryId category;
    const char* name;
    UnityProfilerMarkerFlags flags;
    UnityProfilerMarkerDataType type;
    UnityProfilerMarkerDataUnit unit;
    std::size_t bytes;
    UnityProfilerCounterFlags counter_flags;
    void (*activate)(void*);
    void (*deactivate)(void*);
    void* user;
    const void* owner;  ///< Code that has asked.
};

/// Where its value lies. Null: there is no room, or it is no number.
[[nodiscard]] void* make_counter(const CounterRequest& request) noexcept;
/// `value`: what make_counter() has returned.
void flush_counter(void* value);
/// Those that a frame's end flushes.
void flush_counters_of_frame(ThreadRecord& thread);
[[nodiscard]] bool has_counters_of_frame() noexcept;
/// Those of a plug-in whose code lies there, before it goes: nothing of them is recorded any more.
void end_counters(const void* code_begin, const void* code_end);

/// An event of a marker that counts.
void record_counter_event(Marker& marker, const UnityProfilerMarkerData& value) noexcept;

}  // namespace sample::unity

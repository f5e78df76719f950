// What happens: told to the callbacks that are registered for it, and, where a plug-in has said it,
// recorded. What the program says itself is recorded by the agent (program.h).
//
// Nothing that is said inside a callback is told: a plug-in that answers an event by events of its
// own would be told of these.
#pragma once

#include "receivers/unity/host/callbacks.h"
#include "receivers/unity/host/markers.h"
#include "sample/unity/IUnityProfilerTypes.h"

#include <span>

namespace sample::unity {

/// A zone of the program's begins or ends. `marker`: null, it has none. `clock`: read before the
/// thread's zones were looked at.
void begin_program_zone(ThreadRecord& thread, Marker* marker, MarkerValues values,
                        std::uint64_t clock);
void end_program_zone(ThreadRecord& thread);
/// Something of the program's that takes no time.
void single_program_event(ThreadRecord& thread, Marker& marker, MarkerValues values);

/// IUnityProfiler's EmitEvent.
void emit(const UnityProfilerMarkerDesc* desc, UnityProfilerMarkerEventType type,
          std::uint16_t count, const UnityProfilerMarkerData* values);

/// The next logical frame begins.
[[nodiscard]] Callbacks<>& frame_callbacks() noexcept;
void begin_frame(ThreadRecord& thread);

using FlowCallbacks = Callbacks<UnityProfilerFlowEventType, std::uint32_t>;
[[nodiscard]] FlowCallbacks& flow_callbacks() noexcept;

inline constexpr std::size_t kMostThreads = 16384;
using Threads = Announced<UnityProfilerThreadDesc, kMostThreads>;
[[nodiscard]] Threads& threads() noexcept;
/// The calling thread has a name. `group`, `name`: null, what it had before. Returns its number.
std::uint64_t name_thread(ThreadRecord& thread, const char* group, const char* name) noexcept;

}  // namespace sample::unity

// The markers that there are: those that plug-ins have made, and one for each zone and counter of
// the program; and the callbacks that are registered for each.
#pragma once

#include "receivers/unity/host/announced.h"
#include "receivers/unity/recorded_values.h"
#include "sample/unity/IUnityProfilerTypes.h"

#include <array>
#include <atomic>

namespace sample::unity {

inline constexpr std::size_t kMostMarkers = 65536;

using MarkerEvents = CallbackSlots<const UnityProfilerMarkerDesc*, UnityProfilerMarkerEventType,
                                   std::uint16_t, const UnityProfilerMarkerData*>;

struct Marker {
    UnityProfilerMarkerDesc desc{};  ///< The first member: who has it has the marker.
    Marker* next = nullptr;          ///< Of the same hash.
    /// The zone's number in the recording, or 0.
    std::atomic<std::uint32_t> zone{0};
    ValueNames value_names{};
    MarkerEvents events;

    /// Whether anybody is to be told of its events: is registered for them, and it is available.
    [[nodiscard]] bool is_awaited() const noexcept {
        return __atomic_load_n(&desc.callback, __ATOMIC_RELAXED) != nullptr;
    }
    /// In a release player, what is not for one is not there.
    [[nodiscard]] bool is_available() const noexcept;
};

using Markers = Announced<UnityProfilerMarkerDesc, kMostMarkers>;
[[nodiscard]] Markers& markers() noexcept;

/// The one of that name and category, made if there is none; told to those who are registered. A
/// counter is another one than a marker that is called so.
/// Null: there is no room.
[[nodiscard]] Marker* find_marker(const char* name, UnityProfilerCategoryId category,
                                  UnityProfilerMarkerFlags flags) noexcept;

/// Null: it is no marker of ours.
[[nodiscard]] Marker* marker_of(const UnityProfilerMarkerDesc* desc) noexcept;

/// What the document calls Profiler.DefaultMarker, and the memory's.
struct SpecialMarkers {
    Marker* default_marker;
    Marker* gc_alloc;
    Marker* gc_collect;
};
[[nodiscard]] const SpecialMarkers& special_markers() noexcept;
/// Once, behind the categories.
void make_special_markers() noexcept;

/// Players for release have fewer markers, and no profiler.
void set_release(bool is_release) noexcept;
[[nodiscard]] bool is_release() noexcept;

/// Counts registrations: what has begun at a clock is told to those who were there by then.
[[nodiscard]] std::uint64_t registration_clock() noexcept;
/// How many callbacks are registered for events of all markers together.
[[nodiscard]] std::uint32_t awaited_events() noexcept;

int register_marker_event(const UnityProfilerMarkerDesc* desc, MarkerEvents::Function function,
                          void* user) noexcept;
/// Of all that match, of `only` or of every marker.
template <class Matches>
int unregister_marker_events(Marker* only, Matches matches) noexcept;
/// `desc`: null, all markers; and `user` null, too: whatever it is.
int unregister_marker_event(const UnityProfilerMarkerDesc* desc, MarkerEvents::Function function,
                            void* user) noexcept;

namespace detail {
void take_marker_events(Marker& marker, Removal& removal, std::size_t before) noexcept;
template <class Visit>
void for_each_marker(Marker* only, Visit visit) noexcept {
    if (only != nullptr) {
        visit(*only);
        return;
    }
    const std::uint32_t count = markers().count();
    for (std::uint32_t at = 0; at < count; ++at) {
        visit(*marker_of(markers().at(at)));
    }
}
}  // namespace detail

template <class Matches>
int unregister_marker_events(Marker* only, Matches matches) noexcept {
    Removal removal;
    {
        const RegistryLock lock;
        detail::for_each_marker(only, [&](Marker& marker) {
            const std::size_t before = removal.count();
            marker.events.take(removal, matches);
            detail::take_marker_events(marker, removal, before);
        });
    }
    removal.wait();
    if (removal.has_left()) {
        const RegistryLock lock;
        detail::for_each_marker(only, [](Marker& marker) { marker.events.free(); });
    }
    return removal.count() != 0 ? kDone : kRefused;
}

}  // namespace sample::unity

#include "receivers/unity/host/markers.h"

#include "receivers/unity/host/categories.h"
#include "receivers/unity/host/permanent.h"

#include <cstring>
#include <type_traits>

namespace sample::unity {
namespace {

static_assert(std::is_standard_layout_v<UnityProfilerMarkerDesc>);

constinit Markers g_markers;
constinit std::array<Marker*, 4096> g_by_name{};
constinit SpecialMarkers g_special{};
constinit bool g_is_release = false;
constinit std::atomic<std::uint64_t> g_clock{0};
constinit std::atomic<std::uint32_t> g_awaited{0};

std::size_t bucket_of(const char* name, UnityProfilerCategoryId category) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U ^ category;  // FNV-1a
    for (; *name != '\0'; ++name) {
        hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3U;
    }
    return (hash ^ hash >> 32U) % g_by_name.size();
}

bool is_counter(UnityProfilerMarkerFlags flags) noexcept {
    return (flags & kUnityProfilerMarkerFlagCounter) != 0;
}

Marker* look_up(std::size_t bucket, const char* name, UnityProfilerCategoryId category,
                UnityProfilerMarkerFlags flags) noexcept {
    Marker* each = g_by_name[bucket];
    while (each != nullptr &&
           (each->desc.categoryId != category || std::strcmp(each->desc.name, name) != 0 ||
            is_counter(each->desc.flags) != is_counter(flags))) {
        each = each->next;
    }
    return each;
}

Marker* make(const char* name, UnityProfilerCategoryId category,
             UnityProfilerMarkerFlags flags) noexcept {
    if (g_markers.count() >= kMostMarkers) {
        return nullptr;
    }
    auto* const made = keep<Marker>();
    const char* const kept = keep_text(name);
    if (made == nullptr || kept == nullptr) {
        return nullptr;
    }
    made->desc = {nullptr, g_markers.count(), flags, category, kept, made->value_names.data()};
    g_markers.append(&made->desc);
    return made;
}

}  // namespace

bool Marker::is_available() const noexcept {
    return !g_is_release || (desc.flags & kUnityProfilerMarkerFlagAvailabilityNonDev) != 0;
}

Markers& markers() noexcept {
    return g_markers;
}

Marker* find_marker(const char* name, UnityProfilerCategoryId category,
                    UnityProfilerMarkerFlags flags) noexcept {
    Marker* found = nullptr;
    const std::size_t bucket = bucket_of(name, category);
    {
        const RegistryLock lock;
        found = look_up(bucket, name, category, flags);
        if (found != nullptr) {
            return found;
        }
        found = make(name, category, flags);
        if (found == nullptr) {
            return nullptr;
        }
        found->next = g_by_name[bucket];
        g_by_name[bucket] = found;
    }
    if (ThreadRecord* const thread = ThreadRecord::current(); thread != nullptr) {
        g_markers.announce(*thread);
    }
    return found;
}

Marker* marker_of(const UnityProfilerMarkerDesc* desc) noexcept {
    if (desc == nullptr || desc->id >= g_markers.count() || g_markers.at(desc->id) != desc) {
        return nullptr;
    }
    return reinterpret_cast<Marker*>(const_cast<UnityProfilerMarkerDesc*>(desc));
}

const SpecialMarkers& special_markers() noexcept {
    return g_special;
}

void make_special_markers() noexcept {
    g_special = {
        find_marker("Profiler.Default", kUnityProfilerCategoryScripts,
                    kUnityProfilerMarkerFlagScriptUser),
        find_marker("GC.Alloc", kUnityProfilerCategoryGC, kUnityProfilerMarkerFlagDefault),
        find_marker("GC.Collect", kUnityProfilerCategoryGC, kUnityProfilerMarkerFlagDefault)};
}

void set_release(bool is_release) noexcept {
    g_is_release = is_release;
}
bool is_release() noexcept {
    return g_is_release;
}

std::uint64_t registration_clock() noexcept {
    return g_clock.load(std::memory_order_acquire);
}
std::uint32_t awaited_events() noexcept {
    return g_awaited.load(std::memory_order_relaxed);
}

int register_marker_event(const UnityProfilerMarkerDesc* desc, MarkerEvents::Function function,
                          void* user) noexcept {
    Marker* const marker = marker_of(desc);
    if (marker == nullptr || function == nullptr) {
        return kRefused;
    }
    const RegistryLock lock;
    const std::uint64_t clock = g_clock.load(std::memory_order_relaxed) + 1;
    if (marker->events.add(function, user, clock) == nullptr) {
        return kRefused;
    }
    g_awaited.fetch_add(1, std::memory_order_relaxed);
    if (marker->is_available()) {
        __atomic_store_n(&marker->desc.callback, &marker->events, __ATOMIC_RELEASE);
    }
    // Last: whoever reads it finds the callback.
    g_clock.store(clock, std::memory_order_release);
    return kDone;
}

int unregister_marker_event(const UnityProfilerMarkerDesc* desc, MarkerEvents::Function function,
                            void* user) noexcept {
    Marker* const marker = marker_of(desc);
    if (desc != nullptr && marker == nullptr) {
        return kRefused;
    }
    const bool is_any = desc == nullptr && user == nullptr;
    return unregister_marker_events(marker, [=](const auto& each) {
        return each.function == function && (is_any || each.user == user);
    });
}

void detail::take_marker_events(Marker& marker, Removal& removal, std::size_t before) noexcept {
    g_awaited.fetch_sub(static_cast<std::uint32_t>(removal.count() - before),
                        std::memory_order_relaxed);
    if (marker.events.is_empty()) {
        __atomic_store_n(&marker.desc.callback, nullptr, __ATOMIC_RELAXED);
    }
}

}  // namespace sample::unity

#include "receivers/unity/host/categories.h"
#include "receivers/unity/host/events.h"
#include "receivers/unity/host/interfaces.h"
#include "receivers/unity/host/markers.h"
#include "receivers/unity/host/program.h"

#include <type_traits>

namespace sample::unity {
namespace {

// Each change of what is registered may change what the program is listened to for.

template <auto kKind>
using FunctionOf = typename std::remove_reference_t<decltype(kKind())>::Function;

template <auto kKind>
int register_of(FunctionOf<kKind> callback, void* user) noexcept {
    const int done = kKind().register_one(callback, user);
    listen_as_registered();
    return done;
}
template <auto kKind>
int unregister_of(FunctionOf<kKind> callback, void* user) noexcept {
    const int done = unregister_one(kKind(), callback, user);
    listen_as_registered();
    return done;
}

int register_event(const UnityProfilerMarkerDesc* desc, IUnityProfilerMarkerEventCallback callback,
                   void* user) noexcept {
    const bool is_first = awaited_events() == 0;
    const int done = register_marker_event(desc, callback, user);
    if (is_first) {
        listen_as_registered();
    }
    return done;
}
int unregister_event(const UnityProfilerMarkerDesc* desc,
                     IUnityProfilerMarkerEventCallback callback, void* user) noexcept {
    const int done = unregister_marker_event(desc, callback, user);
    if (awaited_events() == 0) {
        listen_as_registered();
    }
    return done;
}

/// Both versions begin alike.
template <class Table, class... Further>
constexpr Table table_with(Further... further) noexcept {
    return {{},
            register_of<categories>,
            unregister_of<categories>,
            register_of<markers>,
            unregister_of<markers>,
            register_event,
            unregister_event,
            register_of<frame_callbacks>,
            unregister_of<frame_callbacks>,
            register_of<threads>,
            unregister_of<threads>,
            further...};
}

}  // namespace

IUnityProfilerCallbacks& profiler_callbacks() noexcept {
    static constinit auto table = table_with<IUnityProfilerCallbacks>();
    return table;
}

IUnityProfilerCallbacksV2& profiler_callbacks_v2() noexcept {
    static constinit auto table = table_with<IUnityProfilerCallbacksV2>(
        register_of<flow_callbacks>, unregister_of<flow_callbacks>);
    return table;
}

int unregister_code(const void* begin, const void* end) noexcept {
    const auto is_there = [=](const auto& each) {
        const auto* const code = reinterpret_cast<const void*>(each.function);
        return code >= begin && code < end;
    };
    int kinds = 0;
    const auto count = [&kinds](int done) { kinds += done == kDone ? 1 : 0; };
    count(unregister_where(categories(), is_there));
    count(unregister_where(markers(), is_there));
    count(unregister_marker_events(nullptr, is_there));
    count(unregister_where(frame_callbacks(), is_there));
    count(unregister_where(threads(), is_there));
    count(unregister_where(flow_callbacks(), is_there));
    listen_as_registered();
    return kinds;
}

}  // namespace sample::unity

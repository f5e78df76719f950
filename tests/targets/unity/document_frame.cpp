// The document's example of callbacks that are registered once a frame, unchanged, with the rest of
// its plug-in: it captures in every second frame, until SystraceEventCallback has heard enough.
#include <IUnityInterface.h>
#include <IUnityProfilerCallbacks.h>

#include <atomic>

static IUnityProfilerCallbacks* s_UnityProfilerCallbacks = nullptr;
static bool s_isCapturing = false;
static int s_frames = 0;
static std::atomic<long> s_begins{0};
static std::atomic<long> s_ends{0};

static bool ATrace_isEnabled() {
    return ++s_frames % 2 == 1;
}

static void UNITY_INTERFACE_API SystraceEventCallback(const UnityProfilerMarkerDesc* /*marker*/,
                                                      UnityProfilerMarkerEventType type,
                                                      unsigned short /*count*/,
                                                      const UnityProfilerMarkerData* /*data*/,
                                                      void* /*user*/) {
    if (type == kUnityProfilerMarkerEventTypeBegin) {
        ++s_begins;
    } else if (type == kUnityProfilerMarkerEventTypeEnd) {
        ++s_ends;
    }
}

static void UNITY_INTERFACE_API SystraceCreateEventCallback(const UnityProfilerMarkerDesc* marker,
                                                            void* /*user*/) {
    s_UnityProfilerCallbacks->RegisterMarkerEventCallback(marker, SystraceEventCallback, nullptr);
}

#include "document_frame.inc"

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginLoad(IUnityInterfaces* interfaces) {
    s_UnityProfilerCallbacks = interfaces->Get<IUnityProfilerCallbacks>();
    s_UnityProfilerCallbacks->RegisterFrameCallback(SystraceFrameCallback, nullptr);
}

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginUnload() {
    s_UnityProfilerCallbacks->UnregisterFrameCallback(SystraceFrameCallback, nullptr);
    s_UnityProfilerCallbacks->UnregisterCreateMarkerCallback(SystraceCreateEventCallback, nullptr);
    s_UnityProfilerCallbacks->UnregisterMarkerEventCallback(nullptr, SystraceEventCallback,
                                                            nullptr);
}

extern "C" UNITY_INTERFACE_EXPORT long begins_heard() {
    return s_begins;
}
extern "C" UNITY_INTERFACE_EXPORT long ends_heard() {
    return s_ends;
}

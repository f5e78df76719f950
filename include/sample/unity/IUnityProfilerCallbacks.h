/* How a native plug-in is told what a host and its other plug-ins do. Names, values and layouts of
 * Unity's interface. C and C++. docs/unity.md.
 *
 * All functions return 0 if it has worked. At most four callbacks are registered of a kind. What
 * exists already is told by the registration itself, before it returns. From inside a callback
 * others may be registered and unregistered, itself included. */
#ifndef SAMPLE_UNITY_IUNITYPROFILERCALLBACKS_H
#define SAMPLE_UNITY_IUNITYPROFILERCALLBACKS_H

#include "IUnityInterface.h"
#include "IUnityProfilerTypes.h"

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*) */

typedef void(UNITY_INTERFACE_API* IUnityProfilerCreateCategoryCallback)(
    const UnityProfilerCategoryDesc* categoryDesc, void* userData);
typedef void(UNITY_INTERFACE_API* IUnityProfilerCreateMarkerCallback)(
    const UnityProfilerMarkerDesc* markerDesc, void* userData);
typedef void(UNITY_INTERFACE_API* IUnityProfilerMarkerEventCallback)(
    const UnityProfilerMarkerDesc* markerDesc, UnityProfilerMarkerEventType eventType,
    uint16_t eventDataCount, const UnityProfilerMarkerData* eventData, void* userData);
/* The next logical frame begins. */
typedef void(UNITY_INTERFACE_API* IUnityProfilerFrameCallback)(void* userData);
typedef void(UNITY_INTERFACE_API* IUnityProfilerCreateThreadCallback)(
    const UnityProfilerThreadDesc* threadDesc, void* userData);
typedef void(UNITY_INTERFACE_API* IUnityProfilerFlowEventCallback)(
    UnityProfilerFlowEventType flowEventType, uint32_t flowId, void* userData);

/* To unregister: the same function and data as were registered. Of the marker's: a marker that is
 * null stands for all of them, and `userData` that is null, too, for any. */
#define SAMPLE_UNITY_CALLBACK_FUNCTIONS_                                                       \
    int(UNITY_INTERFACE_API * RegisterCreateCategoryCallback)(                                 \
        IUnityProfilerCreateCategoryCallback callback, void* userData);                        \
    int(UNITY_INTERFACE_API * UnregisterCreateCategoryCallback)(                               \
        IUnityProfilerCreateCategoryCallback callback, void* userData);                        \
    int(UNITY_INTERFACE_API * RegisterCreateMarkerCallback)(                                   \
        IUnityProfilerCreateMarkerCallback callback, void* userData);                          \
    int(UNITY_INTERFACE_API * UnregisterCreateMarkerCallback)(                                 \
        IUnityProfilerCreateMarkerCallback callback, void* userData);                          \
    int(UNITY_INTERFACE_API * RegisterMarkerEventCallback)(                                    \
        const UnityProfilerMarkerDesc* markerDesc, IUnityProfilerMarkerEventCallback callback, \
        void* userData);                                                                       \
    int(UNITY_INTERFACE_API * UnregisterMarkerEventCallback)(                                  \
        const UnityProfilerMarkerDesc* markerDesc, IUnityProfilerMarkerEventCallback callback, \
        void* userData);                                                                       \
    int(UNITY_INTERFACE_API * RegisterFrameCallback)(IUnityProfilerFrameCallback callback,     \
                                                     void* userData);                          \
    int(UNITY_INTERFACE_API * UnregisterFrameCallback)(IUnityProfilerFrameCallback callback,   \
                                                       void* userData);                        \
    int(UNITY_INTERFACE_API * RegisterCreateThreadCallback)(                                   \
        IUnityProfilerCreateThreadCallback callback, void* userData);                          \
    int(UNITY_INTERFACE_API * UnregisterCreateThreadCallback)(                                 \
        IUnityProfilerCreateThreadCallback callback, void* userData);

/* Unity 2018.2 and later. */
UNITY_DECLARE_INTERFACE(IUnityProfilerCallbacks){SAMPLE_UNITY_CALLBACK_FUNCTIONS_};
UNITY_REGISTER_INTERFACE_GUID(0x572FDB38CE3C4B1F, 0xA6071A9A7C4F52D8, IUnityProfilerCallbacks)

/* Unity 2019.1 and later. */
UNITY_DECLARE_INTERFACE(IUnityProfilerCallbacksV2) {
    SAMPLE_UNITY_CALLBACK_FUNCTIONS_
    int(UNITY_INTERFACE_API * RegisterFlowEventCallback)(IUnityProfilerFlowEventCallback callback,
                                                         void* userData);
    int(UNITY_INTERFACE_API * UnregisterFlowEventCallback)(IUnityProfilerFlowEventCallback callback,
                                                           void* userData);
};
UNITY_REGISTER_INTERFACE_GUID(0x5DEB59E88F2D4571, 0x81E8583069A5E33C, IUnityProfilerCallbacksV2)
#undef SAMPLE_UNITY_CALLBACK_FUNCTIONS_

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*) */

#endif

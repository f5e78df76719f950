/* How a native plug-in says what it does: markers, whose samples are zones, and counters. Names,
 * values and layouts of Unity's interface. C and C++. docs/unity.md.
 *
 * Functions that return an int: 0, it has worked. All may be called by all threads at once. */
#ifndef SAMPLE_UNITY_IUNITYPROFILER_H
#define SAMPLE_UNITY_IUNITYPROFILER_H

#include "IUnityInterface.h"
#include "IUnityProfilerTypes.h"

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*) */

#ifdef __cplusplus
/* BeginSample and EndSample, of both interfaces. */
#define SAMPLE_UNITY_SAMPLE_FUNCTIONS_                                                        \
    void BeginSample(const UnityProfilerMarkerDesc* markerDesc) {                             \
        EmitEvent(markerDesc, kUnityProfilerMarkerEventTypeBegin, 0, nullptr);                \
    }                                                                                         \
    void BeginSample(const UnityProfilerMarkerDesc* markerDesc, uint16_t eventDataCount,      \
                     const UnityProfilerMarkerData* eventData) {                              \
        EmitEvent(markerDesc, kUnityProfilerMarkerEventTypeBegin, eventDataCount, eventData); \
    }                                                                                         \
    void EndSample(const UnityProfilerMarkerDesc* markerDesc) {                               \
        EmitEvent(markerDesc, kUnityProfilerMarkerEventTypeEnd, 0, nullptr);                  \
    }
#endif

/* What both versions begin with. IsEnabled: 1, what is said is captured. IsAvailable: 1, there is a
 * profiler, as in editors and development players; 0 in release players. SetMarkerMetadataName: of
 * the value number `index`. */
#define SAMPLE_UNITY_EVENT_FUNCTIONS_                                                            \
    void(UNITY_INTERFACE_API * EmitEvent)(                                                       \
        const UnityProfilerMarkerDesc* markerDesc, UnityProfilerMarkerEventType eventType,       \
        uint16_t eventDataCount, const UnityProfilerMarkerData* eventData);                      \
    int(UNITY_INTERFACE_API * IsEnabled)(void);                                                  \
    int(UNITY_INTERFACE_API * IsAvailable)(void);                                                \
    int(UNITY_INTERFACE_API * CreateMarker)(const UnityProfilerMarkerDesc** desc,                \
                                            const char* name, UnityProfilerCategoryId category,  \
                                            UnityProfilerMarkerFlags flags, int eventDataCount); \
    int(UNITY_INTERFACE_API * SetMarkerMetadataName)(                                            \
        const UnityProfilerMarkerDesc* desc, int index, const char* metadataName,                \
        UnityProfilerMarkerDataType metadataType, UnityProfilerMarkerDataUnit metadataUnit);
/* Of the calling thread, which UnregisterThread knows as 0, too. */
#define SAMPLE_UNITY_THREAD_FUNCTIONS_                                                  \
    int(UNITY_INTERFACE_API * RegisterThread)(UnityProfilerThreadId * threadId,         \
                                              const char* groupName, const char* name); \
    int(UNITY_INTERFACE_API * UnregisterThread)(UnityProfilerThreadId threadId);

/* Unity 2020.1 and later. */
UNITY_DECLARE_INTERFACE(IUnityProfiler){SAMPLE_UNITY_EVENT_FUNCTIONS_ SAMPLE_UNITY_THREAD_FUNCTIONS_
#ifdef __cplusplus
                                            SAMPLE_UNITY_SAMPLE_FUNCTIONS_
#endif
};
UNITY_REGISTER_INTERFACE_GUID(0x2CE79ED8316A4833, 0x87076B2013E1571F, IUnityProfiler)

/* A counter is switched on or off: its owner may begin or stop to count. */
typedef void(UNITY_INTERFACE_API* UnityProfilerCounterStatePtrCallback)(void* userData);

#ifdef __cplusplus
/* A counter's value, which lies in the profiler's memory, or in no memory at all. */
template <typename T>
class UnityProfilerCounter;
#endif

/* Unity 2021.2 and later. */
UNITY_DECLARE_INTERFACE(IUnityProfilerV2) {
    SAMPLE_UNITY_EVENT_FUNCTIONS_
    int(UNITY_INTERFACE_API * CreateCategory)(UnityProfilerCategoryId * category, const char* name,
                                              uint32_t unused);
    SAMPLE_UNITY_THREAD_FUNCTIONS_
    /* Where the counter's value is: at most 8 bytes, written by the plug-in, read when it is
     * flushed. Null: there is no room. */
    void*(UNITY_INTERFACE_API * CreateCounterValue)(
        UnityProfilerCategoryId category, const char* name, UnityProfilerMarkerFlags flags,
        UnityProfilerMarkerDataType valueType, UnityProfilerMarkerDataUnit valueUnit,
        size_t valueSize, UnityProfilerCounterFlags counterFlags,
        UnityProfilerCounterStatePtrCallback activateFunc,
        UnityProfilerCounterStatePtrCallback deactivateFunc, void* userData);
    void(UNITY_INTERFACE_API * FlushCounterValue)(void* counter);
#ifdef __cplusplus
    SAMPLE_UNITY_SAMPLE_FUNCTIONS_

    template <typename T>
    UnityProfilerCounter<T> CreateCounter(
        UnityProfilerCategoryId category, const char* name, UnityProfilerMarkerDataUnit unit,
        UnityProfilerCounterStatePtrCallback activateFunc = nullptr,
        UnityProfilerCounterStatePtrCallback deactivateFunc = nullptr, void* userData = nullptr);
#endif
};
UNITY_REGISTER_INTERFACE_GUID(0xB957E0189CB6A30B, 0x83CE589AE85B9068, IUnityProfilerV2)
#undef SAMPLE_UNITY_EVENT_FUNCTIONS_
#undef SAMPLE_UNITY_THREAD_FUNCTIONS_

#ifdef __cplusplus
template <typename T>
struct UnityProfilerMarkerDataTypeOf_;
#define SAMPLE_UNITY_DATA_TYPE_(CPP, TYPE)                                                   \
    template <>                                                                              \
    struct UnityProfilerMarkerDataTypeOf_<CPP> {                                             \
        static const UnityProfilerMarkerDataType value = kUnityProfilerMarkerDataType##TYPE; \
    };
SAMPLE_UNITY_DATA_TYPE_(int32_t, Int32)
SAMPLE_UNITY_DATA_TYPE_(uint32_t, UInt32)
SAMPLE_UNITY_DATA_TYPE_(int64_t, Int64)
SAMPLE_UNITY_DATA_TYPE_(uint64_t, UInt64)
SAMPLE_UNITY_DATA_TYPE_(float, Float)
SAMPLE_UNITY_DATA_TYPE_(double, Double)
#undef SAMPLE_UNITY_DATA_TYPE_
#undef SAMPLE_UNITY_SAMPLE_FUNCTIONS_

template <typename T>
class UnityProfilerCounter {
public:
    UnityProfilerCounter() = default;
    UnityProfilerCounter(IUnityProfilerV2* profiler, void* value)
        : profiler_(profiler), value_(static_cast<T*>(value)) {}

    UnityProfilerCounter& operator=(T value) { return set(value); }
    UnityProfilerCounter& operator+=(T amount) { return set(get() + amount); }
    UnityProfilerCounter& operator-=(T amount) { return set(get() - amount); }
    UnityProfilerCounter& operator++() { return set(get() + T(1)); }
    UnityProfilerCounter& operator--() { return set(get() - T(1)); }
    void Flush() {
        if (value_ != nullptr) {
            profiler_->FlushCounterValue(value_);
        }
    }

private:
    T get() const { return value_ != nullptr ? *value_ : T(); }
    UnityProfilerCounter& set(T value) {
        if (value_ != nullptr) {
            *value_ = value;
        }
        return *this;
    }

    IUnityProfilerV2* profiler_ = nullptr;
    T* value_ = nullptr;
};

template <typename T>
inline UnityProfilerCounter<T> IUnityProfilerV2::CreateCounter(
    UnityProfilerCategoryId category, const char* name, UnityProfilerMarkerDataUnit unit,
    UnityProfilerCounterStatePtrCallback activateFunc,
    UnityProfilerCounterStatePtrCallback deactivateFunc, void* userData) {
    return UnityProfilerCounter<T>(
        this,
        CreateCounterValue(category, name, kUnityProfilerMarkerFlagCounter,
                           UnityProfilerMarkerDataTypeOf_<T>::value, unit, sizeof(T),
                           kUnityProfilerCounterFlagNone, activateFunc, deactivateFunc, userData));
}
#endif

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*) */

#endif

/* What IUnityProfiler.h and IUnityProfilerCallbacks.h have in common: categories, markers, their
 * data. Names, values and layouts of Unity's profiler interface. C and C++. */
#ifndef SAMPLE_UNITY_IUNITYPROFILERTYPES_H
#define SAMPLE_UNITY_IUNITYPROFILERTYPES_H

#include "IUnityInterface.h"

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): C, too
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C, too

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*) */

enum UnityProfilerBuiltinCategory_ {
    kUnityProfilerCategoryRender = 0,
    kUnityProfilerCategoryScripts = 1,
    kUnityProfilerCategoryManagedJobs = 2,
    kUnityProfilerCategoryBurstJobs = 3,
    kUnityProfilerCategoryGUI = 4,
    kUnityProfilerCategoryPhysics = 5,
    kUnityProfilerCategoryAnimation = 6,
    kUnityProfilerCategoryAI = 7,
    kUnityProfilerCategoryAudio = 8,
    kUnityProfilerCategoryAudioJob = 9,
    kUnityProfilerCategoryAudioUpdateJob = 10,
    kUnityProfilerCategoryVideo = 11,
    kUnityProfilerCategoryParticles = 12,
    kUnityProfilerCategoryGi = 13,
    kUnityProfilerCategoryNetwork = 14,
    kUnityProfilerCategoryLoading = 15,
    kUnityProfilerCategoryOther = 16,
    kUnityProfilerCategoryGC = 17,
    kUnityProfilerCategoryVSync = 18,
    kUnityProfilerCategoryOverhead = 19,
    kUnityProfilerCategoryPlayerLoop = 20,
    kUnityProfilerCategoryDirector = 21,
    kUnityProfilerCategoryVR = 22,
    kUnityProfilerCategoryAllocation = 23,
    kUnityProfilerCategoryMemory = 23,
    kUnityProfilerCategoryInternal = 24,
    kUnityProfilerCategoryFileIO = 25,
    kUnityProfilerCategoryUISystemLayout = 26,
    kUnityProfilerCategoryUISystemRender = 27,
    kUnityProfilerCategoryVFX = 28,
    kUnityProfilerCategoryBuildInterface = 29,
    kUnityProfilerCategoryInput = 30,
    kUnityProfilerCategoryVirtualTexturing = 31,
    kUnityProfilerCategoryGPU = 32,
    kUnityProfilerCategoryPhysics2D = 33,
    kUnityProfilerCategoryNetworkOperations = 34,
    kUnityProfilerCategoryUIDetails = 35,
    kUnityProfilerCategoryDebug = 36,
    kUnityProfilerCategoryJobs = 37,
    kUnityProfilerCategoryText = 38
};
typedef uint16_t UnityProfilerCategoryId;

typedef struct UnityProfilerCategoryDesc {
    UnityProfilerCategoryId id;
    uint16_t reserved0;
    uint32_t rgbaColor; /* 0xRRGGBBAA */
    const char* name;
} UnityProfilerCategoryDesc;

/* Availability: where a marker is there at all. Verbosity: a field of three bits. */
enum UnityProfilerMarkerFlag_ {
    kUnityProfilerMarkerFlagDefault = 0,
    kUnityProfilerMarkerFlagScriptUser = 1 << 1,
    kUnityProfilerMarkerFlagAvailabilityEditor = 1 << 2,
    kUnityProfilerMarkerFlagAvailabilityNonDev = 1 << 3, /* In release players, too. */
    kUnityProfilerMarkerFlagWarning = 1 << 4,
    kUnityProfilerMarkerFlagScriptInvoke = 1 << 5,
    kUnityProfilerMarkerFlagScriptEnterLeave = 1 << 6,
    kUnityProfilerMarkerFlagCounter = 1 << 7,
    kUnityProfilerMarkerFlagSampleGPU = 1 << 8,
    kUnityProfilerMarkerFlagVerbosityDebug = 1 << 10,
    kUnityProfilerMarkerFlagVerbosityInternal = 2 << 10,
    kUnityProfilerMarkerFlagVerbosityExternal = 3 << 10,
    kUnityProfilerMarkerFlagVerbosityAdvanced = 4 << 10,
    kUnityProfilerMarkerFlagPrecreated = 1 << 15
};
typedef uint16_t UnityProfilerMarkerFlags;

enum UnityProfilerMarkerEventType_ {
    kUnityProfilerMarkerEventTypeBegin = 0,
    kUnityProfilerMarkerEventTypeEnd = 1,
    kUnityProfilerMarkerEventTypeSingle = 2
};
typedef uint16_t UnityProfilerMarkerEventType;

enum UnityProfilerMarkerDataType_ {
    kUnityProfilerMarkerDataTypeNone = 0,
    kUnityProfilerMarkerDataTypeInstanceId = 1,
    kUnityProfilerMarkerDataTypeInt32 = 2,
    kUnityProfilerMarkerDataTypeUInt32 = 3,
    kUnityProfilerMarkerDataTypeInt64 = 4,
    kUnityProfilerMarkerDataTypeUInt64 = 5,
    kUnityProfilerMarkerDataTypeFloat = 6,
    kUnityProfilerMarkerDataTypeDouble = 7,
    kUnityProfilerMarkerDataTypeString = 8,
    kUnityProfilerMarkerDataTypeString16 = 9,
    kUnityProfilerMarkerDataTypeBlob8 = 11,
    kUnityProfilerMarkerDataTypeGfxResourceId = 12
};
typedef uint8_t UnityProfilerMarkerDataType;

enum UnityProfilerMarkerDataUnit_ {
    kUnityProfilerMarkerDataUnitUndefined = 0,
    kUnityProfilerMarkerDataUnitTimeNanoseconds = 1,
    kUnityProfilerMarkerDataUnitBytes = 2,
    kUnityProfilerMarkerDataUnitCount = 3,
    kUnityProfilerMarkerDataUnitPercent = 4,
    kUnityProfilerMarkerDataUnitFrequencyHz = 5
};
typedef uint8_t UnityProfilerMarkerDataUnit;

typedef struct UnityProfilerMarkerData {
    UnityProfilerMarkerDataType type;
    uint8_t reserved0;
    uint16_t reserved1;
    uint32_t size; /* In bytes. */
    const void* ptr;
} UnityProfilerMarkerData;

typedef uint32_t UnityProfilerMarkerId;

/* Lives, with its name, as long as the profiler. */
typedef struct UnityProfilerMarkerDesc {
    const void* callback; /* Null: nobody is registered for it. */
    UnityProfilerMarkerId id;
    UnityProfilerMarkerFlags flags;
    UnityProfilerCategoryId categoryId;
    const char* name;
    const void* metaDataDesc;
} UnityProfilerMarkerDesc;

typedef uint64_t UnityProfilerThreadId;

typedef struct UnityProfilerThreadDesc {
    UnityProfilerThreadId threadId;
    const char* groupName;
    const char* name;
} UnityProfilerThreadDesc;

enum UnityProfilerFlowEventType_ {
    kUnityProfilerFlowEventTypeBegin = 0,
    kUnityProfilerFlowEventTypeParallelNext = 1,
    kUnityProfilerFlowEventTypeEnd = 2,
    kUnityProfilerFlowEventTypeNext = 3
};
typedef uint8_t UnityProfilerFlowEventType;

enum UnityProfilerCounterFlag_ {
    kUnityProfilerCounterFlagNone = 0,
    kUnityProfilerCounterFlushOnEndOfFrame = 1 << 1,
    kUnityProfilerCounterFlagResetToZeroOnFlush = 1 << 2,
    kUnityProfilerCounterFlagAtomic = 1 << 3,
    kUnityProfilerCounterFlagGetter = 1 << 4
};
typedef uint16_t UnityProfilerCounterFlags;

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*) */

#endif

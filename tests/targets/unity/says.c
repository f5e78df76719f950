/* A plug-in in C that says something by each function of IUnityProfilerV2, as soon as it is loaded:
 * GUIDs by value. */
#include "says.h"

#include <stdio.h>
#include <string.h>

static IUnityProfilerV2* s_profiler;

static void say_values(const UnityProfilerMarkerDesc* marker) {
    static const uint16_t wide[] = {'w', 0x00e4, 'h', 'l', 0};
    const int32_t small = -3;
    const uint64_t large = 5000000000u;
    const float half = 0.5F;
    const double third = 1.0 / 3;
    UnityProfilerMarkerData data[6];
    memset(data, 0, sizeof data);
    data[0].type = kUnityProfilerMarkerDataTypeInt32;
    data[0].size = sizeof small;
    data[0].ptr = &small;
    data[1].type = kUnityProfilerMarkerDataTypeUInt64;
    data[1].size = sizeof large;
    data[1].ptr = &large;
    data[2].type = kUnityProfilerMarkerDataTypeFloat;
    data[2].size = sizeof half;
    data[2].ptr = &half;
    data[3].type = kUnityProfilerMarkerDataTypeDouble;
    data[3].size = sizeof third;
    data[3].ptr = &third;
    data[4].type = kUnityProfilerMarkerDataTypeString;
    data[4].size = 6;
    data[4].ptr = "plain";
    data[5].type = kUnityProfilerMarkerDataTypeString16;
    data[5].size = sizeof wide;
    data[5].ptr = wide;
    s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeBegin, 6, data);
    s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeEnd, 0, NULL);
}

static void say_counters(UnityProfilerCategoryId category) {
    int32_t* balls = s_profiler->CreateCounterValue(
        category, "C balls", kUnityProfilerMarkerFlagCounter, kUnityProfilerMarkerDataTypeInt32,
        kUnityProfilerMarkerDataUnitCount, sizeof *balls,
        kUnityProfilerCounterFlagResetToZeroOnFlush, NULL, NULL, NULL);
    *balls = 7;
    s_profiler->FlushCounterValue(balls);
    s_profiler->FlushCounterValue(balls); /* 0: it was reset. */
}

static void say_memory(IUnityInterfaces* interfaces) {
    IUnityMemoryManager* memory = UNITY_GET_INTERFACE(interfaces, IUnityMemoryManager);
    UnityAllocator* allocator = memory->CreateAllocator("C area", "C object");
    char* block = memory->Allocate(allocator, 100, 64, __FILE__, __LINE__);
    memset(block, 1, 100);
    block = memory->Reallocate(allocator, block, 1000, 16, __FILE__, __LINE__);
    if (block[99] != 1 || ((size_t)block & 15) != 0) {
        printf("reallocated badly\n");
    }
    memory->Deallocate(allocator, block, __FILE__, __LINE__);
    memory->DestroyAllocator(allocator);
}

void UnityPluginLoad(IUnityInterfaces* interfaces) {
    const UnityProfilerMarkerDesc* marker = NULL;
    const UnityProfilerMarkerDesc* released = NULL;
    UnityProfilerCategoryId category = 0;
    UnityProfilerThreadId thread = 0;
    int i;
    s_profiler = UNITY_GET_INTERFACE(interfaces, IUnityProfilerV2);
    printf("available %d\n", s_profiler->IsAvailable());
    s_profiler->CreateCategory(&category, "C category", 0);
    s_profiler->CreateMarker(&marker, "C marker", category, kUnityProfilerMarkerFlagDefault, 6);
    s_profiler->SetMarkerMetadataName(marker, 0, "small", kUnityProfilerMarkerDataTypeInt32,
                                      kUnityProfilerMarkerDataUnitCount);
    s_profiler->RegisterThread(&thread, "C group", "C thread");
    for (i = 0; i < kSaysCalls; ++i) {
        s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeBegin, 0, NULL);
        s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeEnd, 0, NULL);
    }
    say_values(marker);
    s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeSingle, 0, NULL);
    s_profiler->EmitEvent(marker, kUnityProfilerMarkerEventTypeEnd, 0, NULL); /* One too many. */
    s_profiler->CreateMarker(&released, "C release marker", category,
                             kUnityProfilerMarkerFlagAvailabilityNonDev, 0);
    s_profiler->EmitEvent(released, kUnityProfilerMarkerEventTypeBegin, 0, NULL);
    s_profiler->EmitEvent(released, kUnityProfilerMarkerEventTypeEnd, 0, NULL);
    say_counters(category);
    say_memory(interfaces);
    UNITY_LOG(UNITY_GET_INTERFACE(interfaces, IUnityLog), "C log");
    fflush(stdout);
}

void UnityPluginUnload(void) {
    printf("C unloaded\n");
    fflush(stdout);
}

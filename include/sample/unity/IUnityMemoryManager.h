/* How a native plug-in takes memory that the host accounts for. Names, values and layouts of
 * Unity's interface. C and C++. docs/unity.md.
 *
 * Null is returned where there is no memory. Blocks are aligned to `align`, a power of two. */
#ifndef SAMPLE_UNITY_IUNITYMEMORYMANAGER_H
#define SAMPLE_UNITY_IUNITYMEMORYMANAGER_H

#include "IUnityInterface.h"

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): C, too
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C, too

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*) */

/* What an allocator's blocks are booked by. */
typedef struct UnityAllocator UnityAllocator;

UNITY_DECLARE_INTERFACE(IUnityMemoryManager) {
    UnityAllocator*(UNITY_INTERFACE_API * CreateAllocator)(const char* areaName,
                                                           const char* objectName);
    void(UNITY_INTERFACE_API * DestroyAllocator)(UnityAllocator * allocator);
    void*(UNITY_INTERFACE_API * Allocate)(UnityAllocator * allocator, size_t size, size_t align,
                                          const char* file, int32_t line);
    void(UNITY_INTERFACE_API * Deallocate)(UnityAllocator * allocator, void* ptr, const char* file,
                                           int32_t line);
    void*(UNITY_INTERFACE_API * Reallocate)(UnityAllocator * allocator, void* ptr, size_t size,
                                            size_t align, const char* file, int32_t line);
};
UNITY_REGISTER_INTERFACE_GUID(0xBAF9E57C61A811EC, 0xC5A7CC7861A811EC, IUnityMemoryManager)

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*) */

#endif

// IUnityLog and IUnityMemoryManager.
//
// Blocks come from malloc, and are told to the recording as a heap's of the allocator's name.
#include "receivers/unity/host/interfaces.h"
#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/recording.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct UnityAllocator {
    sample_trace_memory_ heap;
};

namespace sample::unity {
namespace {

constexpr std::uint8_t verbosity_of(UnityLogType type) noexcept {
    return type == kUnityLogTypeLog       ? SAMPLE_TRACE_NORMAL
           : type == kUnityLogTypeWarning ? SAMPLE_TRACE_WARNING
                                          : SAMPLE_TRACE_ERROR;
}

/// Goes on as SAMPLE_TRACE_LOG does, with the plug-in's place. Errors and warnings are for people,
/// too.
void write_log(UnityLogType type, const char* message, const char* file, const int line) noexcept {
    if (message == nullptr) {
        return;
    }
    if (type != kUnityLogTypeLog) {
        std::fprintf(stderr, "%s (%s:%d)\n", message, file == nullptr ? "" : file, line);
    }
    if (sample_trace_log == 0) {
        sample_trace_place place{"%s",
                                 "Unity",
                                 file,
                                 static_cast<std::uint32_t>(line),
                                 0,
                                 SAMPLE_TRACE_KIND_LOG,
                                 verbosity_of(type),
                                 0,
                                 0};
        sample_trace_say_(&place, "%s", message);
    }
}

UnityAllocator* create_allocator(const char* area, const char* object) noexcept {
    char name[256];
    std::snprintf(name, sizeof name, "%s%s%s", area == nullptr ? "" : area,
                  area == nullptr || object == nullptr ? "" : ".", object == nullptr ? "" : object);
    const char* const kept = keep_text(name);
    auto* const made = kept == nullptr ? nullptr : keep<UnityAllocator>();
    if (made != nullptr) {
        made->heap.place.name = kept;
        made->heap.place.kind = SAMPLE_TRACE_KIND_MEMORY_HEAP;
    }
    return made;
}

/// Its description is kept: blocks may be left.
void destroy_allocator(UnityAllocator* /*allocator*/) noexcept {}

void say_allocated(UnityAllocator* allocator, const void* block, std::size_t size,
                   std::size_t alignment, std::uint32_t flags) noexcept {
    if (allocator != nullptr && block != nullptr && SAMPLE_TRACE_IS_ON(sample_trace_memory)) {
        sample_trace_allocate_(&allocator->heap, block, size, alignment, flags);
    }
}

void say_freed(UnityAllocator* allocator, const void* block, std::uint32_t flags) noexcept {
    if (allocator != nullptr && block != nullptr && SAMPLE_TRACE_IS_ON(sample_trace_memory)) {
        sample_trace_free_(&allocator->heap, block, flags);
    }
}

void* take(std::size_t size, std::size_t alignment) noexcept {
    constexpr std::size_t kLeast = alignof(std::max_align_t);
    if ((alignment & (alignment - 1)) != 0) {
        return nullptr;
    }
    void* block = nullptr;
    return ::posix_memalign(&block, std::max(alignment, kLeast), std::max<std::size_t>(size, 1)) ==
                   0
               ? block
               : nullptr;
}

void* allocate(UnityAllocator* allocator, std::size_t size, std::size_t alignment,
               const char* /*file*/, std::int32_t /*line*/) noexcept {
    void* const block = take(size, alignment);
    say_allocated(allocator, block, size, alignment, 0);
    return block;
}

void deallocate(UnityAllocator* allocator, void* block, const char* /*file*/,
                std::int32_t /*line*/) noexcept {
    say_freed(allocator, block, 0);
    std::free(block);
}

void* reallocate(UnityAllocator* allocator, void* old, std::size_t size, std::size_t alignment,
                 const char* file, std::int32_t line) noexcept {
    if (old == nullptr) {
        return allocate(allocator, size, alignment, file, line);
    }
    void* const block = take(size, alignment);
    if (block == nullptr) {
        return nullptr;
    }
    std::memcpy(block, old, std::min(size, ::malloc_usable_size(old)));
    say_freed(allocator, old, SAMPLE_TRACE_REALLOCATED);
    say_allocated(allocator, block, size, alignment, SAMPLE_TRACE_REALLOCATED);
    std::free(old);
    return block;
}

}  // namespace

IUnityLog& plugin_log() noexcept {
    static constinit IUnityLog table{{}, write_log};
    return table;
}

IUnityMemoryManager& memory_manager() noexcept {
    static constinit IUnityMemoryManager table{{},       create_allocator, destroy_allocator,
                                               allocate, deallocate,       reallocate};
    return table;
}

}  // namespace sample::unity

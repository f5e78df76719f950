// The container's events of memory that is given out and taken back. Between these and the plain
// values of trace/instrumentation.h go MemoryWriter and MemoryReader.
//
// They have serial numbers, as memory that one thread frees may be another one's right after. A
// MemoryScope begins a scope: all that its thread allocates inside has the tag. Ours has a serial
// number, too, and is around memory events alone.
#pragma once

#include "trace/instrumentation_events.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sample::trace {

/// Of sizes, which an allocation has in two parts.
inline constexpr unsigned kMemorySizeShift = 3;

struct MemoryInitEvent {
    std::uint64_t page_size = 4096;
    std::uint32_t marker_period = 1;
    std::uint8_t version = 2;
    std::uint8_t min_alignment = 1;
    std::uint8_t size_shift = kMemorySizeShift;
    std::uint8_t mode = 0;
};
template <>
inline constexpr auto kType<MemoryInitEvent> = event_type(
    88, "Memory", "Init", number("PageSize", &MemoryInitEvent::page_size),
    number("MarkerPeriod", &MemoryInitEvent::marker_period),
    number("Version", &MemoryInitEvent::version),
    number("MinAlignment", &MemoryInitEvent::min_alignment),
    number("SizeShift", &MemoryInitEvent::size_shift), number("Mode", &MemoryInitEvent::mode));

/// When the memory events behind it were.
struct MemoryMarkerEvent {
    std::uint64_t cycle = 0;
};
template <>
inline constexpr auto kType<MemoryMarkerEvent> =
    ordered(thread_event_type(89, "Memory", "Marker", number("Cycle", &MemoryMarkerEvent::cycle)));

struct MemoryAllocEvent {
    std::uint64_t address = 0;
    std::uint32_t call_stack = 0;
    std::uint32_t size = 0;
    std::uint8_t alignment_and_size = 0;  ///< The size's lower bits, and log2 of the alignment.
    std::uint8_t root_heap = 0;
};
constexpr auto memory_alloc_type(std::uint16_t uid, std::string_view name) {
    return ordered(
        thread_event_type(uid, "Memory", name, number("Address", &MemoryAllocEvent::address),
                          number("CallstackId", &MemoryAllocEvent::call_stack),
                          number("Size", &MemoryAllocEvent::size),
                          number("AlignmentPow2_SizeLower", &MemoryAllocEvent::alignment_and_size),
                          number("RootHeap", &MemoryAllocEvent::root_heap)));
}
template <>
inline constexpr auto kType<MemoryAllocEvent> = memory_alloc_type(90, "Alloc");
struct MemoryReallocAllocEvent : MemoryAllocEvent {};
template <>
inline constexpr auto kType<MemoryReallocAllocEvent> = memory_alloc_type(91, "ReallocAlloc");

struct MemoryFreeEvent {
    std::uint64_t address = 0;
    std::uint8_t root_heap = 0;
};
constexpr auto memory_free_type(std::uint16_t uid, std::string_view name) {
    return ordered(thread_event_type(uid, "Memory", name,
                                     number("Address", &MemoryFreeEvent::address),
                                     number("RootHeap", &MemoryFreeEvent::root_heap)));
}
template <>
inline constexpr auto kType<MemoryFreeEvent> = memory_free_type(92, "Free");
struct MemoryReallocFreeEvent : MemoryFreeEvent {};
template <>
inline constexpr auto kType<MemoryReallocFreeEvent> = memory_free_type(93, "ReallocFree");

struct MemoryHeapSpecEvent {
    static constexpr std::uint16_t kRoot = 1;

    std::uint32_t id = 0;
    std::uint32_t parent = 0;
    std::uint16_t flags = 0;
    std::string name;
};
template <>
inline constexpr auto kType<MemoryHeapSpecEvent> = event_type(
    94, "Memory", "HeapSpec", number("Id", &MemoryHeapSpecEvent::id),
    number("ParentId", &MemoryHeapSpecEvent::parent), number("Flags", &MemoryHeapSpecEvent::flags),
    text("Name", &MemoryHeapSpecEvent::name));

struct MemoryTagSpecEvent {
    std::int32_t tag = 0;
    std::int32_t parent = 0;
    std::string display;
};
template <>
inline constexpr auto kType<MemoryTagSpecEvent> = event_type(
    95, "Memory", "TagSpec", number("Tag", &MemoryTagSpecEvent::tag),
    number("Parent", &MemoryTagSpecEvent::parent), text("Display", &MemoryTagSpecEvent::display));

struct MemoryScopeEvent {
    std::int32_t tag = 0;
};
template <>
inline constexpr auto kType<MemoryScopeEvent> =
    ordered(thread_event_type(96, "Memory", "MemoryScope", number("Tag", &MemoryScopeEvent::tag)));

struct CallstackSpecEvent {
    std::uint32_t id = 0;
    std::vector<std::uint8_t> frames;  ///< Addresses of eight bytes, leaf first.
};
template <>
inline constexpr auto kType<CallstackSpecEvent> =
    event_type(97, "Memory", "CallstackSpec", number("CallstackId", &CallstackSpecEvent::id),
               long_words("Frames", &CallstackSpecEvent::frames));

}  // namespace sample::trace

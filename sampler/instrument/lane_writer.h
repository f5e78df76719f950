// How a thread says something: words into a chunk of its own, which the sampling handler never
// writes to.
//
// Room is reserved by one instruction that exchanges the thread's cursor if it is still what it
// was: no other thread has it, and a signal comes before or behind it. So a handler of the program
// that says something in the middle of what it has interrupted gets room of its own, and neither is
// torn; and the sampling handler may come anywhere.
//
// A zone begins only where there is room for its end and for those of all that are open. Else it is
// dropped and counted, with all that comes before its end: the rest stays balanced. Chunks that
// wait for the collector are limited; each thread may always have one.
//
// All functions: async-signal-safe, thread-safe, no lock, no allocation. No system call unless it
// is the thread's first, or more chunks are in use at once than ever before.
#pragma once

#include "sampler/capture/lane_records.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::instrument {

/// `zone`: its definition. Each call needs its end_zone().
void begin_zone(std::uint32_t zone) noexcept;
/// Of the zone that the thread has begun last. One that a forked child's parent has begun is none.
void end_zone() noexcept;
/// `value`: the bits of an integer or a double, as the counter's definition says.
void count(std::uint32_t counter, std::uint64_t value) noexcept;

/// `said`: at most kMostSaid bytes.
void say(capture::OtherKind kind, std::uint32_t argument,
         std::span<const std::byte> said = {}) noexcept;
/// As begin_zone(), with values.
void begin_noted_zone(std::uint32_t zone, std::span<const std::byte> values) noexcept;
/// The innermost `depth` zones of the thread go on where resume() says. Returns of how many that is
/// recorded, which is what resume() is told.
[[nodiscard]] std::uint32_t suspend(std::uint32_t coroutine, std::uint32_t depth) noexcept;
void resume(std::uint32_t coroutine, std::uint32_t depth) noexcept;

/// Where an event's fields are to be written. Null: there is no room, and it is counted as lost.
struct EventRoom {
    std::byte* said = nullptr;
    std::uint64_t ticks = 0;
};
/// `bytes`: at most kMostEventBytes. Needs its commit_event().
[[nodiscard]] EventRoom reserve_event(std::size_t bytes, capture::ScopeBegin scope) noexcept;
void commit_event(const EventRoom& room, std::size_t bytes, std::uint32_t type,
                  capture::ScopeBegin scope) noexcept;
/// Of the scope that an event of the thread has begun last. There is always room.
void end_scope() noexcept;

/// Memory that was given out.
struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 0;   ///< 0: not known.
    std::uint32_t heap = 0;        ///< Its definition; 0: malloc's.
    std::uint32_t call_stack = 0;  ///< instrument/call_stacks.h; 0: none.
    bool is_realloc = false;
};
/// With the thread's tag.
void allocate(const Allocation& allocation) noexcept;
/// Before anybody else can get the memory.
void free(std::uint64_t address, std::uint32_t heap, bool is_realloc) noexcept;
/// What the thread allocates from now on has this tag. Returns what it had.
std::uint32_t set_memory_tag(std::uint32_t tag) noexcept;
[[nodiscard]] std::uint32_t memory_tag() noexcept;

/// The thread says nothing more, or shares its thread-local storage from now on: what comes is
/// counted as lost. Before capture::end_thread().
void leave_lane() noexcept;
/// In a forked child, whose only thread is the calling one.
void forget_lane() noexcept;
/// Something could not be said, for want of a definition.
void count_lost(std::uint64_t zones, std::uint64_t others) noexcept;

}  // namespace sample::instrument

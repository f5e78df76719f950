// Places records of samples into the calling thread's chunks. Async-signal-safe: bounded loops, and
// no system call unless more chunks are in use at once than ever before. A signal that comes in
// between must not write by the same lane; and nobody writes after the thread's end.
#pragma once

#include "sampler/capture/ring_records.h"
#include "sampler/capture/thread_state.h"

#include <cstddef>
#include <cstdint>

namespace sample::capture {

/// Room for one record, not yet visible to the collector.
struct Reservation {
    std::uint64_t* words = nullptr;  ///< Null: no room in the current chunk, or no free chunk.
    std::uint32_t size_words = 0;
};

/// Room in the chunk that the thread has; null if it has none or the record does not fit.
inline Reservation reserve(const ThreadState& thread, std::uint32_t size_words) noexcept {
    const ChunkCursor& at = thread.cursor;
    if (at.chunk == nullptr || at.used >= at.enough ||
        at.used + std::size_t{size_words} * 8 > Chunk::kDataBytes) {
        return {};
    }
    return {reinterpret_cast<std::uint64_t*>(at.chunk->data.data() + at.used), size_words};
}

/// How much of a chunk is used that begins with a stack of so many bytes: all of it would be
/// filled, and stay in memory, for nothing. But each chunk begins with a whole stack, which has to
/// be a small part of it.
constexpr std::uint32_t enough_of_chunk(std::uint32_t stack_bytes) noexcept {
    constexpr std::uint32_t kLeast = 32 * 1024;
    const std::uint32_t wanted = stack_bytes * 16;
    return wanted < kLeast ? kLeast : wanted;
}

/// Leaves the chunk, if there is one, to the collector.
inline void leave_chunk(Chunk* chunk) noexcept {
    if (chunk != nullptr) {
        // Pairs with the acquire in the collector, which then sees the last `committed`.
        chunk->full.store(1, std::memory_order_release);
    }
}

/// A chunk that nobody else has, or kNoIndex: all are in use.
inline std::uint32_t claim_chunk(Area& area) noexcept {
    std::uint32_t index = claim_bit(area.header.free_chunks, area.mapped_chunks());
    while (index == kNoIndex && area.grow()) {
        index = claim_bit(area.header.free_chunks, area.mapped_chunks());
    }
    return index;
}

/// Leaves the thread's chunk and claims a new one, which begins with a whole stack. False: all
/// chunks are in use.
inline bool change_chunk(Area& area, ThreadState& thread) noexcept {
    const std::uint32_t index = claim_chunk(area);
    if (index == kNoIndex) {
        return false;
    }
    ChunkCursor& at = thread.cursor;
    leave_chunk(at.chunk);
    at.chunk = area.chunk(index);
    at.chunk->slot = static_cast<std::uint16_t>(thread.slot_index);
    at.chunk->lane = kSampleLane;
    at.chunk->sequence = at.next_sequence++;
    at.used = 0;
    at.enough = enough_of_chunk(0);
    thread.unchanged = 0;
    thread.slot->chunk.store(index, std::memory_order_relaxed);
    return true;
}

/// Makes a filled reservation visible.
inline void commit(ThreadState& thread, const Reservation& room) noexcept {
    ChunkCursor& at = thread.cursor;
    at.used += room.size_words * 8;
    // The one release store of a sample: pairs with the collector's acquire load.
    at.chunk->committed.store(at.used, std::memory_order_release);
}

/// The same room in a new chunk, if there is none in this one. Null words: no room anywhere.
inline Reservation reserve_anywhere(Area& area, ThreadState& thread,
                                    std::uint32_t size_words) noexcept {
    Reservation room = reserve(thread, size_words);
    if (room.words == nullptr && change_chunk(area, thread)) {
        room = reserve(thread, size_words);
    }
    return room;
}

/// Writes a fixed-size record with nothing behind it among the samples, and returns the chunk that
/// has it. Null: no room anywhere.
template <class Record>
Chunk* write_record(Area& area, ThreadState& thread, Record record) noexcept {
    constexpr std::uint32_t kWords = sizeof(Record) / 8;
    const Reservation room = reserve_anywhere(area, thread, kWords);
    if (room.words == nullptr) {
        return nullptr;
    }
    record.head.size_words = kWords;
    __builtin_memcpy(room.words, &record, sizeof(Record));
    Chunk* const chunk = thread.cursor.chunk;
    commit(thread, room);
    return chunk;
}

}  // namespace sample::capture

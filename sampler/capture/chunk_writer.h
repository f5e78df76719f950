// Places records into the calling thread's chunk. Async-signal-safe: no system calls, bounded
// loops.
#pragma once

#include "sampler/capture/ring_records.h"
#include "sampler/capture/shared_area.h"

#include <cstddef>
#include <cstdint>

namespace sample::capture {

/// Room for one record, not yet visible to the collector.
struct Reservation {
    std::uint64_t* words = nullptr;  ///< Null: no room in the current chunk, or no free chunk.
    std::uint32_t size_words = 0;
};

/// Room in the chunk that the slot has; null if it has none or the record does not fit.
inline Reservation reserve(Area& area, ThreadSlot& slot, std::uint32_t size_words) noexcept {
    if (slot.chunk >= kMaxChunks) {
        return {};
    }
    Chunk& chunk = area.chunks[slot.chunk];
    const std::uint32_t used = chunk.committed.load(std::memory_order_relaxed);
    if (used + size_words * 8 > Chunk::kDataBytes) {
        return {};
    }
    return {reinterpret_cast<std::uint64_t*>(chunk.data.data() + used), size_words};
}

/// Leaves the slot's chunk to the collector and claims a new one. False: all chunks are in use.
inline bool change_chunk(Area& area, ThreadSlot& slot) noexcept {
    const std::uint32_t index = claim_bit(area.header.free_chunks);
    if (index == kNoIndex) {
        return false;
    }
    if (slot.chunk < kMaxChunks) {
        // Pairs with the acquire in the collector, which then sees the last `committed`.
        area.chunks[slot.chunk].full.store(1, std::memory_order_release);
    }
    Chunk& chunk = area.chunks[index];
    chunk.slot = static_cast<std::uint32_t>(&slot - area.slots.data());
    chunk.sequence = slot.next_sequence++;
    slot.chunk = index;
    return true;
}

/// Makes a filled reservation visible.
inline void commit(Area& area, ThreadSlot& slot, const Reservation& room) noexcept {
    Chunk& chunk = area.chunks[slot.chunk];
    const std::uint32_t used = chunk.committed.load(std::memory_order_relaxed);
    // The one release store of a sample: pairs with the collector's acquire load.
    chunk.committed.store(used + room.size_words * 8, std::memory_order_release);
}

/// Writes a fixed-size record with nothing behind it. False: no room anywhere.
template <class Record>
bool write_record(Area& area, ThreadSlot& slot, Record record) noexcept {
    constexpr std::uint32_t kWords = sizeof(Record) / 8;
    Reservation room = reserve(area, slot, kWords);
    if (room.words == nullptr) {
        if (!change_chunk(area, slot)) {
            return false;
        }
        slot.unchanged = 0;
        room = reserve(area, slot, kWords);
    }
    record.head.size_words = kWords;
    __builtin_memcpy(room.words, &record, sizeof(Record));
    commit(area, slot, room);
    return true;
}

}  // namespace sample::capture

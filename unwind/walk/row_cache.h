// A hot pc → row cache, shared by all threads without locks.
//
// Direct mapped. An entry is two words, {key ^ row, row}, stored and loaded relaxed: if two threads
// write one entry at once, or a reader sees one word new and one old, the xor no longer yields the
// reader's key, and the entry counts as a miss. So a wrong row is never taken, and no word orders
// another. (Two rows that differ by exactly two keys' difference would be taken for each other;
// rows' low bits are a small enum and keys differ in the low bits of pcs, so such a pair would need
// 64 matching bits by chance.)
//
// A key is a pc mixed with the generation of the module table, so rows of an unloaded module are
// never met again and need no flush. Storage is the caller's: zeroed, a power of two of entries,
// 16 bytes each; 16,384 entries are 256 KiB. Async-signal-safe. Thread-safe.
#pragma once

#include "unwind/cfi/row.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind {

class RowCache {
public:
    struct alignas(16) Entry {
        std::atomic<std::uint64_t> key_xor_row{0};
        std::atomic<std::uint64_t> row{0};
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    /// `storage` outlives the cache; of a size that is no power of two the largest one below is
    /// used. Not empty.
    explicit RowCache(std::span<Entry> storage) noexcept
        : entries_{storage.data()}, mask_{std::bit_floor(storage.size()) - 1} {}

    /// The row of `key`, or an empty one.
    [[nodiscard]] cfi::Row find(std::uint64_t key) const noexcept {
        const Entry& entry = entries_[index_of(key)];
        const std::uint64_t row = entry.row.load(std::memory_order_relaxed);
        const std::uint64_t check = entry.key_xor_row.load(std::memory_order_relaxed);
        return cfi::Row::from_bits((check ^ row) == key ? row : 0);
    }

    /// Replaces what was in the key's place.
    void insert(std::uint64_t key, cfi::Row row) noexcept {
        Entry& entry = entries_[index_of(key)];
        entry.key_xor_row.store(key ^ row.bits(), std::memory_order_relaxed);
        entry.row.store(row.bits(), std::memory_order_relaxed);
    }

private:
    /// Neighbouring pcs get neighbouring entries; the second term spreads modules that are loaded
    /// at round distances.
    [[nodiscard]] std::size_t index_of(std::uint64_t key) const noexcept {
        return (key ^ key >> 15) & mask_;
    }

    Entry* entries_;
    std::size_t mask_;
};

}  // namespace sample::unwind

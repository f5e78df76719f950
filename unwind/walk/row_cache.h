// A hot pc → row cache, shared by all threads without locks.
//
// Direct mapped. An entry holds {key ^ row, row}, stored and loaded relaxed: if two threads write
// one entry at once, or a reader sees one word new and one old, the xor no longer yields the
// reader's key, and the entry counts as a miss. So a wrong row is never taken, and no word orders
// another. (Two rows that differ by exactly two keys' difference would be taken for each other;
// rows' low bits are a small enum and keys differ in the low bits of pcs, so such a pair would need
// 64 matching bits by chance.)
//
// An entry also names the entry where the row of its last caller was found. That is a guess,
// checked like every other entry; but it is at hand before the return address has been read, so
// that a processor need not wait for one frame to begin with the next.
//
// A key is a pc mixed with the generation of the module table, and with whether it is a frame's pc
// itself, so rows of an unloaded module are never met again and need no flush. Storage is the
// caller's: zeroed, a power of two of entries, 32 bytes each; 16,384 entries are 512 KiB.
// Async-signal-safe. Thread-safe.
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
    struct alignas(32) Entry {
        std::atomic<std::uint64_t> key_xor_row{0};
        std::atomic<std::uint64_t> row{0};
        std::atomic<std::uint64_t> caller{0};  ///< Where the last caller's row was: an address.

        /// Whether the entry holds the row of `key`, which is then in `out`.
        [[nodiscard]] bool read(std::uint64_t key, cfi::Row& out) const noexcept {
            const std::uint64_t bits = row.load(std::memory_order_relaxed);
            out = cfi::Row::from_bits(bits);
            return (key_xor_row.load(std::memory_order_relaxed) ^ bits) == key;
        }
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    /// `storage` outlives the cache; of a size that is no power of two the largest one below is
    /// used. Not empty.
    explicit RowCache(std::span<Entry> storage) noexcept
        : entries_{storage.data()}, mask_{std::bit_floor(storage.size()) - 1} {}

    /// The only entry that may hold `key`.
    [[nodiscard]] Entry& home(std::uint64_t key) const noexcept { return entries_[index_of(key)]; }

    /// The entry of `key`, which is a caller of the function that `callee` is for: first where the
    /// last caller's was. `row` is what it holds, or an empty one.
    [[nodiscard, gnu::always_inline]] Entry& find_caller(Entry& callee, std::uint64_t key,
                                                         cfi::Row& row) const noexcept {
        // Checked by a branch, not masked: what is loaded here decides how fast a walk is. (Only a
        // wild write of the program could lead elsewhere, or between two entries.)
        const std::uint64_t caller = callee.caller.load(std::memory_order_relaxed);
        if (caller - reinterpret_cast<std::uint64_t>(entries_) <= mask_ * sizeof(Entry))
            [[likely]] {
            Entry& entry = *reinterpret_cast<Entry*>(caller);
            if (entry.read(key, row)) [[likely]] {
                return entry;
            }
        }
        Entry& entry = home(key);
        row = find(key);
        callee.caller.store(reinterpret_cast<std::uint64_t>(&entry), std::memory_order_relaxed);
        return entry;
    }

    /// The row of `key`, or an empty one.
    [[nodiscard]] cfi::Row find(std::uint64_t key) const noexcept {
        cfi::Row row;
        return home(key).read(key, row) ? row : cfi::Row{};
    }

    /// Replaces what was in the key's place.
    void insert(std::uint64_t key, cfi::Row row) const noexcept {
        Entry& entry = home(key);
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

// Entries without duplicates, numbered in the order they came: an open-addressing hash table of
// indices beside one dense array, so that a million entries cost 4 to 8 bytes each on top of their
// own size, and whoever reads them later sees one plain span.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sample::callgraph {

/// Spreads the bits of `value`. Source: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix_bits(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

constexpr std::uint64_t hash_pair(std::uint64_t first, std::uint64_t second) noexcept {
    return mix_bits(mix_bits(first + 0x9e3779b97f4a7c15U) ^ second);
}

/// `Traits` has static `hash(const Entry&)` and `equal(const Entry&, const Entry&)`, both over the
/// part of an entry that identifies it; all bits of the hash are used. Holds fewer than 2^31
/// entries. Not thread-safe.
///
/// A slot's bits that its index does not need hold some of the entry's hash, so that a search looks
/// at hardly any entry but the one that it finds.
template <class Entry, class Traits>
class InternTable {
public:
    /// The index of the entry equal to `entry`, which is added if there is none. Amortised O(1).
    std::uint32_t intern(Entry entry) {
        if (slots_for(entries_.size() + 1) > slots_.size()) {
            constexpr std::size_t kFirstSlots = 64;
            rehash(slots_.empty() ? kFirstSlots : slots_.size() * 2);
        }
        const std::uint64_t hash = Traits::hash(entry);
        std::uint32_t& slot = slots_[find_slot(entry, hash)];
        if (slot == kEmpty) {
            slot = tag_of(hash) | static_cast<std::uint32_t>(entries_.size());
            entries_.push_back(std::move(entry));
        }
        return slot & index_mask();
    }

    /// The index of the entry equal to `entry`, if there is one.
    [[nodiscard]] std::optional<std::uint32_t> find(const Entry& entry) const {
        const std::uint32_t slot =
            slots_.empty() ? kEmpty : slots_[find_slot(entry, Traits::hash(entry))];
        return slot == kEmpty ? std::nullopt : std::optional{slot & index_mask()};
    }

    /// Makes room for so many entries at once.
    void reserve(std::size_t entries) {
        entries_.reserve(entries);
        if (const std::size_t slots = slots_for(entries); slots > slots_.size()) {
            rehash(slots);
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] const Entry& operator[](std::uint32_t index) const { return entries_[index]; }
    /// For what does not identify the entry only.
    [[nodiscard]] Entry& operator[](std::uint32_t index) { return entries_[index]; }
    [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }

private:
    static constexpr std::uint32_t kEmpty = 0xffffffff;

    /// More than twice as many, so that no index has all its bits set, as kEmpty has.
    static std::size_t slots_for(std::size_t entries) { return std::bit_ceil(entries * 2 + 2); }
    [[nodiscard]] std::uint32_t index_mask() const {
        return static_cast<std::uint32_t>(slots_.size() / 2 - 1);
    }
    [[nodiscard]] std::uint32_t tag_of(std::uint64_t hash) const {
        return static_cast<std::uint32_t>(hash >> 32) & ~index_mask();
    }

    [[nodiscard]] std::size_t find_slot(const Entry& entry, std::uint64_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(hash) & mask;
        while (slots_[at] != kEmpty && !is_of(slots_[at], entry, hash)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    [[nodiscard]] bool is_of(std::uint32_t slot, const Entry& entry, std::uint64_t hash) const {
        return (slot & ~index_mask()) == tag_of(hash) &&
               Traits::equal(entries_[slot & index_mask()], entry);
    }

    void rehash(std::size_t slots) {
        slots_.assign(slots, kEmpty);
        const std::size_t mask = slots_.size() - 1;
        for (std::uint32_t index = 0; index < entries_.size(); ++index) {
            const std::uint64_t hash = Traits::hash(entries_[index]);
            std::size_t at = static_cast<std::size_t>(hash) & mask;
            while (slots_[at] != kEmpty) {
                at = (at + 1) & mask;
            }
            slots_[at] = tag_of(hash) | index;
        }
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;
};

}  // namespace sample::callgraph

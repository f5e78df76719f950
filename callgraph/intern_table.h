// Entries without duplicates, numbered in the order they came: an open-addressing hash table of
// indices beside one dense array, so that a million entries cost 4 to 8 bytes each on top of their
// own size, and whoever reads them later sees one plain span.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
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
/// part of an entry that identifies it. Holds at most 2^31 entries. Not thread-safe.
template <class Entry, class Traits>
class InternTable {
public:
    /// The index of the entry equal to `entry`, which is added if there is none. Amortised O(1).
    std::uint32_t intern(Entry entry) {
        if ((entries_.size() + 1) * 2 > slots_.size()) {
            constexpr std::size_t kFirstSlots = 64;
            rehash(slots_.empty() ? kFirstSlots : slots_.size() * 2);
        }
        std::uint32_t& slot = slots_[find_slot(entry)];
        if (slot == kEmpty) {
            slot = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back(std::move(entry));
        }
        return slot;
    }

    /// Makes room for so many entries at once.
    void reserve(std::size_t entries) {
        entries_.reserve(entries);
        if (const std::size_t slots = std::bit_ceil(entries * 2); slots > slots_.size()) {
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

    [[nodiscard]] std::size_t find_slot(const Entry& entry) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(Traits::hash(entry)) & mask;
        while (slots_[at] != kEmpty && !Traits::equal(entries_[slots_[at]], entry)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void rehash(std::size_t slots) {
        slots_.assign(slots, kEmpty);
        const std::size_t mask = slots_.size() - 1;
        for (std::uint32_t index = 0; index < entries_.size(); ++index) {
            std::size_t at = static_cast<std::size_t>(Traits::hash(entries_[index])) & mask;
            while (slots_[at] != kEmpty) {
                at = (at + 1) & mask;
            }
            slots_[at] = index;
        }
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;
};

}  // namespace sample::callgraph

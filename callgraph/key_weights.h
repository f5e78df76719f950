// Sums of a recording's weights by whatever addresses have in common: a function, a line, an
// instruction. What a Profile is for functions, for finer grains.
//
// The sums obey the rules of a Profile: self is what was spent at the stack's leaf, sampled and
// booked; total counts a key once a stack, however often it is on it.
#pragma once

#include "callgraph/recording.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sample::callgraph {

struct KeyWeight {
    std::uint64_t self = 0;
    std::uint64_t self_samples = 0;
    std::uint64_t total = 0;
    std::uint64_t samples = 0;
};

/// Which keys each of Recording::addresses() stands for.
class AddressKeys {
public:
    /// There are `keys` keys at least. No address has one yet.
    explicit AddressKeys(std::size_t addresses, std::uint32_t keys = 0)
        : first_(addresses, kNone), keys_{keys} {}

    /// What is spent at or below `address` is part of the key's total, and what is spent at it of
    /// its self, if `is_own`. Adding a key twice is adding it once.
    void add(std::uint32_t address, std::uint32_t key, bool is_own);

private:
    friend std::vector<KeyWeight> weights_by_key(const Recording& recording,
                                                 const AddressKeys& keys);
    static constexpr std::uint32_t kNone = 0xffffffff;
    struct Entry {
        std::uint32_t key = 0;
        std::uint32_t next = kNone;  ///< Of the same address.
        bool is_own = false;
    };

    /// Calls `see` for each entry of the address.
    template <class See>
    void each_of(std::uint32_t address, See see) const {
        for (std::uint32_t at = first_[address]; at != kNone; at = entries_[at].next) {
            see(entries_[at]);
        }
    }

    std::vector<std::uint32_t> first_;  ///< By address: its latest entry.
    std::vector<Entry> entries_;
    std::uint32_t keys_;
};

/// By key. O(nodes + weights) times the keys of an address; no recursion.
[[nodiscard]] std::vector<KeyWeight> weights_by_key(const Recording& recording,
                                                    const AddressKeys& keys);

}  // namespace sample::callgraph

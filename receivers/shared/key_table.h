// From keys that come at run time to numbers: which definition a name has in a domain, which region
// an id has begun. A fixed table without a lock; what does not fit is not kept, and its user does
// without.
//
// A key is a hash of 64 bits, and taken for what was hashed: two that are equal by chance would
// need billions of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sample::receivers {

/// Of numbers and addresses, one after the other: in another order it is another one.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
    hash = (hash * 0xff51afd7ed558ccdU + 0x2545f4914f6cdd1dU) ^ word;
    hash = (hash ^ hash >> 29U) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ hash >> 32U) * 0xd6e8feb86659fd93U;
    return hash ^ hash >> 32U;
}
inline std::uint64_t mix(std::uint64_t hash, const void* address) noexcept {
    return mix(hash, reinterpret_cast<std::uintptr_t>(address));
}
inline std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = text.size();
    while (!text.empty()) {
        std::uint64_t word = 0;
        const std::size_t bytes = text.size() < sizeof word ? text.size() : sizeof word;
        std::memcpy(&word, text.data(), bytes);
        hash = mix(hash, word);
        text.remove_prefix(bytes);
    }
    return mix(hash, std::uint64_t{0});
}

/// `kSlots`: a power of two. All zero when it begins.
template <std::size_t kSlots>
class KeyTable {
public:
    /// 0: there is none.
    [[nodiscard]] std::uint64_t find(std::uint64_t key) const noexcept {
        for (std::size_t i = 0; i < kProbes; ++i) {
            const Slot& slot = slots_[(key + i) % kSlots];
            // Pairs with the release in put().
            if (slot.key.load(std::memory_order_acquire) == usable(key)) {
                return slot.value.load(std::memory_order_relaxed);
            }
        }
        return 0;
    }

    /// `value`: not 0. False: there is no room.
    bool put(std::uint64_t key, std::uint64_t value) noexcept {
        for (std::size_t i = 0; i < kProbes; ++i) {
            Slot& slot = slots_[(key + i) % kSlots];
            if (slot.key.load(std::memory_order_relaxed) == usable(key)) {
                slot.value.store(value, std::memory_order_relaxed);
                return true;
            }
        }
        for (std::size_t i = 0; i < kProbes; ++i) {
            Slot& slot = slots_[(key + i) % kSlots];
            std::uint64_t free = kFree;
            if (slot.key.compare_exchange_strong(free, kBusy, std::memory_order_acquire)) {
                slot.value.store(value, std::memory_order_relaxed);
                slot.key.store(usable(key), std::memory_order_release);
                return true;
            }
        }
        return false;
    }

    /// Its value, which is gone from here on. 0: there is none.
    std::uint64_t take(std::uint64_t key) noexcept {
        for (std::size_t i = 0; i < kProbes; ++i) {
            Slot& slot = slots_[(key + i) % kSlots];
            std::uint64_t expected = usable(key);
            if (slot.key.compare_exchange_strong(expected, kBusy, std::memory_order_acquire)) {
                const std::uint64_t value = slot.value.load(std::memory_order_relaxed);
                slot.key.store(kFree, std::memory_order_release);
                return value;
            }
        }
        return 0;
    }

private:
    static constexpr std::uint64_t kFree = 0;
    static constexpr std::uint64_t kBusy = 1;
    static constexpr std::size_t kProbes = 16;

    static constexpr std::uint64_t usable(std::uint64_t key) noexcept {
        return key <= kBusy ? key + 2 : key;
    }

    struct Slot {
        std::atomic<std::uint64_t> key{kFree};
        std::atomic<std::uint64_t> value{0};
    };
    std::array<Slot, kSlots> slots_{};
};

}  // namespace sample::receivers

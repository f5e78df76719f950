// The hash of our interning tables.
#pragma once

#include <cstdint>

namespace sample::trace {

/// Mixes two words into 32 well-spread bits. A few nanoseconds.
[[nodiscard]] constexpr std::uint32_t hash_words(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t mixed = (a ^ (b * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL;
    mixed ^= mixed >> 29;
    mixed *= 0xc4ceb9fe1a85ec53ULL;
    return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace sample::trace

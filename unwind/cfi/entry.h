// The parts of .eh_frame and .debug_frame that every reader of them shares: an entry's content, its
// CIE, encoded numbers. Inline where the handler's cold path needs it to be.
//
// No allocation, no system calls. Async-signal-safe.
// Source: LSB 5.0 Core section 10.6; DWARF 5 section 6.4.1.
#pragma once

#include "unwind/cfi/fde.h"

#include <cstdint>

namespace sample::unwind::cfi {

template <class T>
[[gnu::always_inline]] inline T load(std::uint64_t address) noexcept {
    T value;
    __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

template <class T>
[[gnu::always_inline]] inline std::uint64_t sign_extended(T value) noexcept {
    return static_cast<std::uint64_t>(std::int64_t{value});
}

/// What the length field of a CIE or FDE counts; empty if that is not within the bounds, or if it
/// is the terminator, which has no content.
struct Content {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool wide = false;  ///< The 64-bit format.

    [[nodiscard]] bool empty() const noexcept { return begin == end; }
    [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
};

[[gnu::always_inline]] inline Content content_at(std::uint64_t low, std::uint64_t high,
                                                 std::uint64_t address) noexcept {
    if (address < low || address >= high || high - address < 4) {
        return {};
    }
    std::uint64_t begin = address + 4;
    std::uint64_t length = load<std::uint32_t>(address);
    const bool wide = length == 0xffffffff;
    if (wide) [[unlikely]] {
        if (high - begin < 8) {
            return {};
        }
        length = load<std::uint64_t>(begin);
        begin += 8;
    }
    return high - begin < length ? Content{} : Content{begin, begin + length, wide};
}

/// Parses a CIE into `out`. `has_data`: its FDEs carry augmentation data.
[[nodiscard]] Found parse_cie(const Content& content, FrameFormat format, Fde& out,
                              bool& has_data) noexcept;

/// The value of a DW_EH_PE format (its low four bits), relative to nothing.
[[nodiscard]] std::uint64_t read_format(ByteReader& reader, std::uint8_t encoding) noexcept;

}  // namespace sample::unwind::cfi

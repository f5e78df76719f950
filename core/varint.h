// Variable-length integers: 7 bits a byte, low bits first, the top bit says that more follow
// (LEB128), and zigzag for signed values. Source: DWARF 5 section 7.6.
//
// No allocation, no system calls. Async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample {

inline constexpr std::size_t kMaxVarintBytes = 10;

constexpr std::uint64_t zigzag_encode(std::int64_t value) noexcept {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t zigzag_decode(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

/// Writes `value` at `out`, which has room for kMaxVarintBytes. Returns the bytes written.
template <class Byte>
constexpr std::size_t write_varint(Byte* out, std::uint64_t value) noexcept {
    std::size_t size = 0;
    while (value >= 0x80) {
        out[size++] = static_cast<Byte>((value & 0x7f) | 0x80);
        value >>= 7;
    }
    out[size++] = static_cast<Byte>(value);
    return size;
}

/// Reads a varint from [in, end). Returns the bytes read, or 0 if it is cut off or longer than 64
/// bits.
template <class Byte>
constexpr std::size_t read_varint(const Byte* in, const Byte* end, std::uint64_t& value) noexcept {
    std::uint64_t result = 0;
    for (std::size_t size = 0; size < kMaxVarintBytes && in + size < end; ++size) {
        const auto byte = static_cast<std::uint64_t>(in[size]) & 0xff;
        if (size == kMaxVarintBytes - 1 && byte > 1) {
            return 0;
        }
        result |= (byte & 0x7f) << (7 * size);
        if ((byte & 0x80) == 0) {
            value = result;
            return size + 1;
        }
    }
    return 0;
}

}  // namespace sample

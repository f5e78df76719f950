// Bytes packed as one piece: what the 4 KiB packets of a recording would pack less well, and what
// lies in files of its own.
//
// A varint, size << 1 | is LZ4, then one LZ4 block, or the bytes themselves where that saves
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

/// The most that unpack() gives back.
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{64} << 20;

/// What is kept for long is worth the time to make it small.
enum class Packing : std::uint8_t {
    small,  ///< Some 20 ns a byte.
    quick,  ///< Some 2 ns a byte, and a quarter larger.
};

/// More than kMaxUnpackedBytes are packed, but not unpacked again.
[[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> bytes,
                                          Packing packing = Packing::small);

/// nullopt: not made by pack(), damaged, or of more than kMaxUnpackedBytes. Takes no more memory
/// than what `packed` can hold.
[[nodiscard]] std::optional<std::vector<std::byte>> unpack(std::span<const std::byte> packed);

}  // namespace sample::trace

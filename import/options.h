// What of a foreign file is wanted, and how much of it is borne.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::imports {

/// No compressed file that unpacks to more is read: a profile of a million nodes needs a tenth.
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{1} << 30;

/// A node costs about 200 bytes while the tree grows, and two bytes of some formats make one.
inline constexpr std::uint32_t kMaxNodes = std::uint32_t{1} << 24;

struct Options {
    bool times = false;  ///< Profile::timeline, where the file has times.
    bool lines = false;  ///< A node for each line of a function, where the file has lines.
    std::size_t max_unpacked_bytes = kMaxUnpackedBytes;
    std::uint32_t max_nodes = kMaxNodes;
};

}  // namespace sample::imports

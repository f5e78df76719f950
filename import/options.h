// What of a foreign file is wanted, and how much of it is borne.
#pragma once

#include <cstddef>

namespace sample::imports {

/// No compressed file that unpacks to more is read: a profile of a million nodes needs a tenth.
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{1} << 30;

struct Options {
    bool times = false;  ///< Profile::timeline, where the file has times.
    bool lines = false;  ///< A node for each line of a function, where the file has lines.
    std::size_t max_unpacked_bytes = kMaxUnpackedBytes;
};

}  // namespace sample::imports

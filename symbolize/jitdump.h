// What a jitdump says of addresses: names, and source lines from its debug information.
//
// Read record by record, twice, from a descriptor (core/jitdump.h): a dump holds all the code that
// was ever made, and may be large. Foreign bytes throughout.
#pragma once

#include "core/jitdump.h"
#include "symbolize/told_code.h"

#include <cstdint>
#include <span>

namespace sample::symbolize {

enum class DumpAddresses : std::uint8_t {
    offsets,   ///< Where the byte of code lies in the file.
    run_time,  ///< Where it ran; of code that lay there one after the other, the last.
};

/// `reader` is at the first record. O(records × log addresses); memory for what the addresses need.
[[nodiscard]] ToldCode read_jitdump(const jitdump::Reader& reader,
                                    std::span<const std::uint64_t> addresses, DumpAddresses are);

}  // namespace sample::symbolize

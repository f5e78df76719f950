// /tmp/perf-PID.map: a line for each piece of code that a JIT compiler has made.
//
//     START SIZE name that may have spaces        both hexadecimal, with or without 0x
//
// Lines are written in the order in which code was made, so of overlapping ones the last one wins.
// Foreign bytes: what is no such line is skipped.
// Source: Linux tools/perf/Documentation/jit-interface.txt.
#pragma once

#include "symbolize/told_code.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace sample::symbolize {

/// What the map says of `addresses`, the process's own. O(lines × log addresses); keeps no line but
/// those that count. Thread-safe.
[[nodiscard]] ToldCode read_perf_map(std::string_view text,
                                     std::span<const std::uint64_t> addresses);

}  // namespace sample::symbolize

// The text that `perf script` prints, with times, threads, modules and inlined frames.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <string_view>

namespace sample::imports {

/// A sample weighs its period, or 1 where none is printed; periods of cpu-clock and task-clock are
/// nanoseconds. Only samples of the first event are kept, and a note counts the others. Times are
/// counted from the first sample's begin. Errors: corrupt, with the line: neither the head of a
/// sample nor a frame nor a comment; no sample at all; weights whose sum overflows.
[[nodiscard]] Result<callgraph::Profile> read_perf_script(std::string_view text,
                                                          const Options& options);

/// Whether the first line that is no comment is the head of a sample with its time.
[[nodiscard]] bool is_perf_script(std::string_view text);

}  // namespace sample::imports

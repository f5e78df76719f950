// What `luau --profile` writes to profile.out: a line a stack, its microseconds first.
//
//     1523 chess.lua,evaluate,120;chess.lua,search,80;=stdin,,
//
// Frames are `source,name,line`, the innermost first; name and line may be empty; a source may have
// commas. Time in the collector is a frame `GC,GC,` before the function that it interrupted.
// Source: CLI/src/Profiler.cpp and tools/perfgraph.py of Luau.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <string_view>

namespace sample::imports {

/// Errors: corrupt, with the line: no duration, a frame that has not three parts, a line number of
/// more than 32 bits; durations whose sum overflows 64-bit nanoseconds.
[[nodiscard]] Result<callgraph::Profile> read_luau(std::string_view text, const Options& options);

/// Whether `line` is of this form.
[[nodiscard]] bool is_luau_line(std::string_view line);

}  // namespace sample::imports

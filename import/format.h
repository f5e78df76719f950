// The formats that can be imported, by name.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::imports {

enum class Format : std::uint8_t {
    json,  ///< Script-profiler JSON, version 1 or 2.
    speedscope,
    pprof,
    perf_script,
    folded,
    folded_threads,  ///< Folded; the first frame of each line is a thread's or process's name.
    luau,            ///< The stacks that `luau --profile` writes.
};

[[nodiscard]] std::string_view name_of(Format format);

/// "json, speedscope, …": for messages.
[[nodiscard]] std::string format_names();

/// Errors: invalid_argument, listing the formats.
[[nodiscard]] Result<Format> find_format(std::string_view name);

}  // namespace sample::imports

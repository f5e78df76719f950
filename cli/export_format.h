// The formats that a Profile can be exported in, by name.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::cli {

enum class ExportFormat : std::uint8_t {
    json,    ///< Version 2 of the script-profiler format.
    folded,  ///< One line a stack, as flame-graph scripts read it.
};

/// "json, folded": for messages.
[[nodiscard]] std::string export_format_names();

/// The format called `name`. Errors: invalid_argument, listing the formats.
[[nodiscard]] Result<ExportFormat> parse_export_format(std::string_view name);

}  // namespace sample::cli

// The formats that a Profile can be exported in, by name. A new one is a file in export/, a
// line in export/formats.h and one in export_format.cpp.
#pragma once

#include "analysis/load_profile.h"
#include "callgraph/profile.h"
#include "core/result.h"
#include "export/shared/writer.h"

#include <span>
#include <string>
#include <string_view>

namespace sample::analysis {

struct ExportFormat {
    std::string_view name;
    Result<void> (*write)(const callgraph::Profile& profile, const exports::Sink& sink);
    Details wants;           ///< What of a recording it can show.
    bool is_binary = false;  ///< Nothing to look at on a terminal.
};

/// All of them, the one of the source documents first.
[[nodiscard]] std::span<const ExportFormat> export_formats();

/// "json, folded": for messages.
[[nodiscard]] std::string export_format_names();

/// The format called `name`; it lives as long as the program. Errors: invalid_argument, listing the
/// formats.
[[nodiscard]] Result<const ExportFormat*> find_export_format(std::string_view name);

}  // namespace sample::analysis

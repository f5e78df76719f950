// What `sample export` is asked to write, as plain values.
#pragma once

#include "analysis/export_format.h"
#include "cli/options/option_parser.h"
#include "cli/options/profile_choice.h"
#include "core/result.h"

#include <string>
#include <vector>

namespace sample::cli {

struct ExportOptions {
    const analysis::ExportFormat* format = nullptr;
    std::string output = "-";  ///< "-": standard output.
    bool force = false;
    analysis::ProfileChoice choice;
    std::string file;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<ExportOptions>> parse_export_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli

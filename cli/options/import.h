// What `sample import` is asked to read, as plain values.
#pragma once

#include "cli/options/option_parser.h"
#include "core/result.h"
#include "import/import.h"

#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

struct ImportOptions {
    std::optional<imports::Format> from;  ///< None: by the file's content.
    std::string output;                   ///< "-": standard output.
    bool force = false;
    std::string file;
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<Parsed<ImportOptions>> parse_import_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli

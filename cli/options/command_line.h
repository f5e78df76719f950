// From the words of the command line to one verb and its options. Runs nothing, prints nothing.
#pragma once

#include "cli/verbs/verbs.h"
#include "core/result.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sample::cli {

/// Text for standard output: --help and --version.
struct Text {
    std::string text;
};

using Invocation = std::variant<Text, RecordOptions, ReportOptions, AnnotateOptions,
                                DiffVerbOptions, ExportOptions, ImportOptions, DoctorOptions>;

/// `words` are argv without the program's name. The first word is the verb; where it is none, all
/// words are record's.
/// Errors: invalid_argument; the message ends with where to find help.
[[nodiscard]] Result<Invocation> parse_command_line(const std::vector<std::string>& words);

/// "sample 0.1.0".
[[nodiscard]] std::string version_text();

}  // namespace sample::cli

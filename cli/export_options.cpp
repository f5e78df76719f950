#include "cli/export_options.h"

#include <utility>

namespace sample::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  sample export --format json -o app.json app.utrace
  sample export --format folded app.utrace | flamegraph.pl > app.svg)";

}  // namespace

Result<Parsed<ExportOptions>> parse_export_options(const std::vector<std::string>& arguments) {
    ExportOptions options;
    std::string format;
    TypedChoice typed_choice;
    std::vector<std::string> files;
    OptionParser parser{"export --format FORMAT [-o FILE|-] [OPTIONS] FILE",
                        "Writes a recording in a format that other programs read.", kFooter};
    parser.value("--format", "FORMAT", format, export_format_names());
    parser.value("-o,--output", "FILE", options.output,
                 "Where to, mode 0600; - is standard output (default)");
    parser.flag("--force", options.force, "Replace a file that exists");
    add_choice(parser, typed_choice);
    parser.positional("FILE", files, "A recording or a profile in JSON");
    Result<ParseOutcome> outcome = parser.parse(arguments);
    if (!outcome) {
        return Unexpected{outcome.error()};
    }
    if (outcome->wants_help()) {
        return Parsed<ExportOptions>{{}, std::move(outcome->help)};
    }
    if (format.empty()) {
        return unexpected(ErrorCode::invalid_argument,
                          "no format: add --format with one of " + export_format_names());
    }
    const Result<const ExportFormat*> known = find_export_format(format);
    if (!known) {
        return Unexpected{known.error()};
    }
    options.format = *known;
    Result<ProfileChoice> choice = read_choice(typed_choice);
    if (!choice) {
        return Unexpected{choice.error()};
    }
    options.choice = std::move(*choice);
    Result<std::string> file = single_file("export", files);
    if (!file) {
        return Unexpected{file.error()};
    }
    options.file = std::move(*file);
    return Parsed<ExportOptions>{std::move(options), {}};
}

}  // namespace sample::cli

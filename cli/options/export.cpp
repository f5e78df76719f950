#include "cli/options/export.h"

#include <utility>

namespace sample::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  sample export --format json -o app.json app.utrace
  sample export --format folded app.utrace | flamegraph.pl > app.svg)";

struct Typed {
    std::string format;
    std::vector<std::string> files;
    TypedChoice choice;
};

Result<ExportOptions> read(const Typed& typed, ExportOptions options) {
    if (typed.format.empty()) {
        return unexpected(ErrorCode::invalid_argument,
                          "no format: add --format with one of " + analysis::export_format_names());
    }
    const Result<const analysis::ExportFormat*> known = analysis::find_export_format(typed.format);
    if (!known) {
        return Unexpected{known.error()};
    }
    options.format = *known;
    Result<analysis::ProfileChoice> choice = read_choice(typed.choice);
    if (!choice) {
        return Unexpected{choice.error()};
    }
    options.choice = std::move(*choice);
    Result<std::string> file = single_file("export", typed.files);
    if (!file) {
        return Unexpected{file.error()};
    }
    options.file = std::move(*file);
    return options;
}

}  // namespace

Result<Parsed<ExportOptions>> parse_export_options(const std::vector<std::string>& arguments) {
    ExportOptions options;
    Typed typed;
    OptionParser parser{"export --format FORMAT [-o FILE|-] [OPTIONS] FILE",
                        "Writes a recording in a format that other programs read.", kFooter};
    parser.value("--format", "FORMAT", typed.format, analysis::export_format_names());
    parser.value("-o,--output", "FILE", options.output,
                 "Where to, mode 0600; - is standard output (default)");
    parser.flag("--force", options.force, "Replace a file that exists");
    add_choice(parser, typed.choice);
    parser.positional("FILE", typed.files, "A recording, or a foreign profile (sample import)");
    return parse_options(parser, arguments, [&] { return read(typed, options); });
}

}  // namespace sample::cli

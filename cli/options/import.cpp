#include "cli/options/import.h"

#include "cli/options/profile_choice.h"
#include "core/text.h"

#include <string_view>
#include <utility>

namespace sample::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  sample import profile.pb.gz
  perf script -F +srcline | tee app.txt && sample import app.txt
  sample import --from folded-threads -o app.json app.folded

report, export and diff read such files directly, too.)";

constexpr std::string_view kJson = ".json";

/// "out/app.folded.gz" gives "app.json": the result stands where the program runs. That of
/// "app.json" is "app.imported.json", lest --force replaces the file itself.
std::string default_output(const std::string& file) {
    std::string stem{file_name(file)};
    if (stem.ends_with(".gz")) {
        stem.erase(stem.size() - 3);
    }
    const bool is_json = stem.ends_with(kJson);
    const std::size_t dot = stem.rfind('.');
    if (dot != std::string::npos && dot != 0) {
        stem.erase(dot);
    }
    return stem.append(is_json ? ".imported" : "").append(kJson);
}

}  // namespace

Result<Parsed<ImportOptions>> parse_import_options(const std::vector<std::string>& arguments) {
    ImportOptions options;
    std::string from;
    std::vector<std::string> files;
    OptionParser parser{"import [--from FORMAT] [-o FILE|-] FILE",
                        "Reads another profiler's file and writes it as a profile in JSON.",
                        kFooter};
    add_from(parser, from);
    parser.value("-o,--output", "FILE", options.output,
                 "Where to, mode 0600; - is standard output\n"
                 "(default: FILE's name with .json, or .imported.json)");
    parser.flag("--force", options.force, "Replace a file that exists");
    parser.positional("FILE", files, "A profile of another program, or of ours");
    Result<ParseOutcome> outcome = parser.parse(arguments);
    if (!outcome) {
        return Unexpected{outcome.error()};
    }
    if (outcome->wants_help()) {
        return Parsed<ImportOptions>{{}, std::move(outcome->help)};
    }
    const Result<std::optional<imports::Format>> format = read_from(from);
    if (!format) {
        return Unexpected{format.error()};
    }
    options.from = *format;
    Result<std::string> file = single_file("import", files);
    if (!file) {
        return Unexpected{file.error()};
    }
    options.file = std::move(*file);
    if (options.output.empty()) {
        options.output = default_output(options.file);
    }
    return Parsed<ImportOptions>{std::move(options), {}};
}

}  // namespace sample::cli

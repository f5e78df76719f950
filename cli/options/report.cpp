#include "cli/options/report.h"

#include "cli/options/option_words.h"
#include "cli/options/profile_choice.h"

#include <charconv>
#include <utility>

namespace sample::cli {
namespace {

constexpr Words<View, 5> kViews = {{{"summary", View::summary},
                                    {"callgraph", View::callgraph},
                                    {"functions", View::functions},
                                    {"threads", View::threads},
                                    {"stats", View::stats}}};
constexpr Words<Unit, 3> kUnits = {
    {{"auto", Unit::weight}, {"ms", Unit::milliseconds}, {"%", Unit::percent}}};

constexpr const char* kFooter =
    R"(FILE is a recording of sample, or a profile in JSON (version 2 of the script-profiler format).

Examples:
  sample report sample-app-1234.utrace
  sample report --view callgraph --focus 'parse(int)' --unit % app.utrace
  sample report --view stats --json app.utrace)";

struct Typed {
    std::string view = "summary";
    std::string unit = "auto";
    std::string min;
    std::string color = "auto";
    std::vector<std::string> files;
    TypedChoice choice;
};

Result<std::optional<double>> parse_percent(const std::string& text) {
    constexpr double kMost = 100.0;
    if (text.empty()) {
        return std::optional<double>{};
    }
    double value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    const bool is_unit = parsed.ptr == end || std::string_view{parsed.ptr} == "%";
    if (parsed.ec != std::errc{} || !is_unit || !(value >= 0.0 && value <= kMost)) {
        return unexpected(ErrorCode::invalid_argument,
                          "--min '" + text + "' is no share: write a number from 0 to 100");
    }
    return std::optional<double>{value};
}

Result<ReportOptions> read(const Typed& typed, ReportOptions options) {
    const Result<View> view = parse_word("--view", typed.view, kViews);
    if (!view) {
        return Unexpected{view.error()};
    }
    options.view = *view;
    const Result<Unit> unit = parse_word("--unit", typed.unit, kUnits);
    if (!unit) {
        return Unexpected{unit.error()};
    }
    options.unit = *unit;
    const Result<ColorMode> color = parse_color(typed.color);
    if (!color) {
        return Unexpected{color.error()};
    }
    options.color = *color;
    const Result<std::optional<double>> min = parse_percent(typed.min);
    if (!min) {
        return Unexpected{min.error()};
    }
    options.min_percent = *min;
    Result<analysis::ProfileChoice> choice = read_choice(typed.choice);
    if (!choice) {
        return Unexpected{choice.error()};
    }
    options.choice = std::move(*choice);
    Result<std::string> file = single_file("report", typed.files);
    if (!file) {
        return Unexpected{file.error()};
    }
    options.file = std::move(*file);
    return options;
}

}  // namespace

Result<Parsed<ReportOptions>> parse_report_options(const std::vector<std::string>& arguments) {
    ReportOptions options;
    Typed typed;
    OptionParser parser{"report [OPTIONS] FILE", "Shows what a recording holds.", kFooter};
    parser.value("--view", "VIEW", typed.view,
                 "summary (default), callgraph, functions, threads, stats");
    add_choice(parser, typed.choice);
    parser.flag("--lines", typed.choice.by_line,
                "A node of the callgraph for each line of a function");
    parser.value("--unit", "UNIT", typed.unit,
                 "auto (default): ms, or the count of an event; ms; %");
    parser.value("--min", "PERCENT", typed.min,
                 "Leave out what weighs less (callgraph: 0.5, else 0)");
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    parser.value("--color", "WHEN", typed.color, "auto (default), always or never");
    parser.positional("FILE", typed.files, "A recording, or a foreign profile (sample import)");
    return parse_options(parser, arguments, [&] { return read(typed, options); });
}

}  // namespace sample::cli

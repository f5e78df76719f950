#include "cli/options/diff.h"

#include "cli/options/option_words.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace sample::cli {
namespace {

constexpr Words<DiffView, 2> kViews = {
    {{"functions", DiffView::functions}, {"paths", DiffView::paths}}};

constexpr const char* kFooter =
    R"(A and B are recordings of sample, or whatever else sample report reads. Functions are matched by
name, module and source file. Exit code: 0, also if there are differences; 3 if --fail-above was
given and something is surely worse by more; 1 if it failed; 2 for a wrong command line.

Examples:
  sample diff before.utrace after.utrace
  sample diff --normalize --view paths before.utrace after.utrace
  sample diff --fail-above 5% --json before.utrace after.utrace > diff.json)";

struct Typed {
    std::string view = "functions";
    std::string confidence = "95";
    std::vector<std::string> fail_above;  ///< The last one counts; none: no gate.
    std::string limit = "20";
    std::string color = "auto";
    std::vector<std::string> files;
    TypedChoice choice;
};

/// "5", "5%" or "5 %".
std::optional<double> percent_in(std::string_view text) {
    if (text.ends_with('%')) {
        text.remove_suffix(1);
        text = text.substr(0, text.find_last_not_of(' ') + 1);
    }
    double value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    const bool is_number = parsed.ec == std::errc{} && parsed.ptr == end && std::isfinite(value);
    return is_number ? std::optional{value} : std::nullopt;
}

Result<void> read_figures(const Typed& typed, DiffVerbOptions& options) {
    constexpr double kLeastConfidence = 50;
    constexpr double kMostConfidence = 99.9999;
    const std::optional<double> confidence = percent_in(typed.confidence);
    if (!confidence || !(*confidence >= kLeastConfidence && *confidence <= kMostConfidence)) {
        return unexpected(ErrorCode::invalid_argument,
                          "--confidence '" + typed.confidence +
                              "' is out of range: write a number from 50 to 99.9999");
    }
    options.confidence_percent = *confidence;
    if (!typed.fail_above.empty()) {
        const std::string& limit = typed.fail_above.back();
        options.fail_above_percent = percent_in(limit);
        if (!options.fail_above_percent || !(*options.fail_above_percent >= 0)) {
            return unexpected(
                ErrorCode::invalid_argument,
                "--fail-above '" + limit + "' is no limit: write per cent of A's whole, like 5%");
        }
    }
    const char* end = typed.limit.data() + typed.limit.size();
    const auto parsed = std::from_chars(typed.limit.data(), end, options.limit);
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
        return unexpected(
            ErrorCode::invalid_argument,
            "--limit '" + typed.limit + "' is no number of lines: write 0 for all, or more");
    }
    return {};
}

Result<DiffVerbOptions> read(const Typed& typed, DiffVerbOptions options) {
    const Result<DiffView> view = parse_word("--view", typed.view, kViews);
    if (!view) {
        return Unexpected{view.error()};
    }
    options.view = *view;
    const Result<ColorMode> color = parse_color(typed.color);
    if (!color) {
        return Unexpected{color.error()};
    }
    options.color = *color;
    if (const Result<void> figures = read_figures(typed, options); !figures) {
        return Unexpected{figures.error()};
    }
    Result<analysis::ProfileChoice> choice = read_choice(typed.choice);
    if (!choice) {
        return Unexpected{choice.error()};
    }
    options.choice = std::move(*choice);
    if (typed.files.size() != 2) {
        return unexpected(ErrorCode::invalid_argument,
                          "two files are compared, not " + std::to_string(typed.files.size()) +
                              ": write sample diff [OPTIONS] BEFORE AFTER");
    }
    options.before = typed.files[0];
    options.after = typed.files[1];
    return options;
}

}  // namespace

Result<Parsed<DiffVerbOptions>> parse_diff_options(const std::vector<std::string>& arguments) {
    DiffVerbOptions options;
    Typed typed;
    OptionParser parser{"diff [OPTIONS] A B",
                        "Compares two recordings: what got worse, what better, and what is noise.",
                        kFooter};
    parser.value("--view", "VIEW", typed.view, "functions (default) or paths");
    parser.flag("--normalize", options.normalize,
                "Compare shares of each one's whole, not durations");
    parser.values("--fail-above", "PERCENT", typed.fail_above,
                  "Exit with 3 if a function, or the whole, is surely\n"
                  "worse by more than this part of A's whole");
    parser.value("--confidence", "PERCENT", typed.confidence,
                 "How sure a difference must be: 95 (default)");
    parser.value("--limit", "LINES", typed.limit, "Lines of each list: 20 (default), 0 for all");
    add_choice(parser, typed.choice);
    parser.flag("--json", options.json, "JSON instead of text");
    parser.value("--color", "WHEN", typed.color, "auto (default), always or never");
    parser.positional("FILES", typed.files, "Two recordings, or profiles in JSON: before, after");
    return parse_options(parser, arguments, [&] { return read(typed, options); });
}

}  // namespace sample::cli

// `sample diff`: two files beside each other, on standard output; with a gate, an exit code.
#include "analysis/diff/diff.h"

#include "analysis/diff/function_match.h"
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/refuse.h"
#include "cli/verbs/verbs.h"
#include "cli/views/diff.h"
#include "cli/views/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sample::cli {
namespace {

constexpr double kHundred = 100;

/// `profile` as if it had lasted `seconds`: its samples keep their times, so the noise stays known.
Result<void> average(DiffSide& side, std::uint64_t seconds) {
    constexpr double kNsPerSecond = 1e9;
    constexpr double kNsPerMs = 1e6;
    callgraph::Profile& profile = side.profile;
    const double length_ns = profile.stats.wall_ns != 0
                                 ? static_cast<double>(profile.stats.wall_ns)
                                 : (static_cast<double>(profile.end_unix_ms) -
                                    static_cast<double>(profile.start_unix_ms)) *
                                       kNsPerMs;
    if (!(length_ns > 0)) {
        return refuse(ErrorCode::unsupported,
                      "--average needs the session's length, which {} does not have: leave "
                      "--average out",
                      side.file);
    }
    const double scale = static_cast<double>(seconds) * kNsPerSecond / length_ns;
    side.factor = scale / profile.scale;
    const auto total = static_cast<long double>(root_total_ns(profile));
    if (total * static_cast<long double>(side.factor) >=
        static_cast<long double>(std::numeric_limits<std::uint64_t>::max())) {
        return refuse(ErrorCode::unsupported,
                      "--average: {} has more than 64 bits can say, so scaled: leave --average out",
                      side.file);
    }
    profile.scale = scale;
    return {};
}

Result<DiffSide> load(const std::string& file, analysis::ProfileChoice choice) {
    const std::optional<std::uint64_t> average_s = std::exchange(choice.average_s, {});
    // Compilers split and copy functions as they like, from build to build.
    choice.fold_parts = true;
    SAMPLE_TRY(profile, analysis::load_profile(file, choice, {.times = true, .lines = false}));
    DiffSide side{file, std::move(profile)};
    if (average_s) {
        SAMPLE_CHECK(average(side, *average_s));
    }
    return side;
}

std::string counted_thing(const callgraph::Profile& profile) {
    return profile.is_time() ? "time" : printable(profile.unit);
}

/// Loads and compares. Errors: what cannot be loaded, or not compared at all.
Result<DiffReport> compare(const DiffVerbOptions& options) {
    SAMPLE_TRY(a, load(options.before, options.choice));
    SAMPLE_TRY(b, load(options.after, options.choice));
    DiffReport report{std::move(a), std::move(b), options, {}, {}, {}};
    callgraph::Profile& before = report.before.profile;
    callgraph::Profile& after = report.after.profile;
    if (before.unit != after.unit) {
        return refuse(ErrorCode::unsupported,
                      "{} is in {}, {} in {}: compare recordings of the same event", options.before,
                      counted_thing(before), options.after, counted_thing(after));
    }
    before = analysis::without_addresses(std::move(before), after);
    after = analysis::without_addresses(std::move(after), before);
    report.diff =
        analysis::diff(before, after,
                       {options.normalize, 1 - options.confidence_percent / kHundred,
                        options.view == DiffView::paths, options.json, options.choice.search,
                        report.before.factor, report.after.factor});
    report.warnings =
        analysis::comparability_warnings(before, after, options.choice.average_s.has_value());
    return report;
}

/// As many digits as it takes to see that they differ.
int digits_that_tell_apart(double left, double right) {
    constexpr int kMost = 9;
    int digits = 1;
    while (digits < kMost && decimal(left, digits) == decimal(right, digits)) {
        ++digits;
    }
    return digits;
}

/// What the gate says: the exit code, and why on standard error.
int gate(const DiffReport& report) {
    if (report.failures.empty()) {
        return kExitOk;
    }
    const analysis::GateFailure& worst = report.failures.front();
    const double allowed = *report.options.fail_above_percent;
    const int digits = digits_that_tell_apart(worst.least * kHundred, allowed);
    std::string text = fmt::format(
        "{} is worse by at least {} % of A's whole: --fail-above allows {} %",
        worst.function ? printable(report.diff.functions[*worst.function].name) : "the whole",
        decimal(worst.least * kHundred, digits), decimal(allowed, digits));
    if (report.failures.size() > 1) {
        text += " (and " + counted(report.failures.size() - 1, "other") + ")";
    }
    print_error(text);
    return kExitGate;
}

}  // namespace

Result<int> run(const DiffVerbOptions& options) {
    SAMPLE_TRY(report, compare(options));
    const auto& functions = report.diff.functions;
    if (!options.choice.search.empty() &&
        std::none_of(functions.begin(), functions.end(),
                     [](const analysis::FunctionDiff& each) { return each.is_chosen; })) {
        return refuse("no name contains '{}': sample report --view functions lists the names",
                      options.choice.search);
    }
    if (options.fail_above_percent && !report.diff.is_judged) {
        return refuse(
            "--fail-above needs the numbers of samples, which {} does not have: compare recordings",
            report.diff.whole.before.samples == 0 ? options.before : options.after);
    }
    if (options.fail_above_percent) {
        report.failures = analysis::gate_failures(report.diff, *options.fail_above_percent);
    }
    SAMPLE_CHECK(write_to_stdout(
        options.json ? diff_json(report)
                     : diff_view(report, detect_terminal(STDOUT_FILENO, options.color))));
    return gate(report);
}

}  // namespace sample::cli

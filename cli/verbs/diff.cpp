// `sample diff`: two files beside each other, on standard output; with a gate, an exit code.
#include "analysis/diff/diff.h"

#include "analysis/diff/function_match.h"
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/diff.h"
#include "cli/views/text.h"
#include "cli/views/view_parts.h"

#include <unistd.h>

#include <limits>
#include <utility>

namespace sample::cli {
namespace {

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
        return unexpected(ErrorCode::unsupported, "--average needs the session's length, which " +
                                                      side.file +
                                                      " does not have: leave --average out");
    }
    const double scale = static_cast<double>(seconds) * kNsPerSecond / length_ns;
    side.factor = scale / profile.scale;
    const auto total = static_cast<long double>(root_total_ns(profile));
    if (total * static_cast<long double>(side.factor) >=
        static_cast<long double>(std::numeric_limits<std::uint64_t>::max())) {
        return unexpected(ErrorCode::unsupported,
                          "--average: " + side.file +
                              " has more than 64 bits can say, so scaled: leave --average out");
    }
    profile.scale = scale;
    return {};
}

Result<DiffSide> load(const std::string& file, analysis::ProfileChoice choice) {
    const std::optional<std::uint64_t> average_s = std::exchange(choice.average_s, {});
    // Compilers split and copy functions as they like, from build to build.
    choice.fold_parts = true;
    analysis::Details wanted;
    wanted.times = true;
    Result<callgraph::Profile> profile = analysis::load_profile(file, choice, wanted);
    if (!profile) {
        return Unexpected{profile.error()};
    }
    DiffSide side{file, std::move(*profile)};
    if (average_s) {
        if (const Result<void> averaged = average(side, *average_s); !averaged) {
            return Unexpected{averaged.error()};
        }
    }
    return side;
}

std::string counted_thing(const callgraph::Profile& profile) {
    return profile.is_time() ? "time" : printable(profile.unit);
}

/// Loads and compares. Errors: what cannot be loaded, or not compared at all.
Result<void> compare(DiffReport& report) {
    const DiffVerbOptions& options = report.options;
    for (auto [side, file] :
         {std::pair{&report.before, &options.before}, std::pair{&report.after, &options.after}}) {
        Result<DiffSide> loaded = load(*file, options.choice);
        if (!loaded) {
            return Unexpected{loaded.error()};
        }
        *side = std::move(*loaded);
    }
    callgraph::Profile& before = report.before.profile;
    callgraph::Profile& after = report.after.profile;
    if (before.unit != after.unit) {
        return unexpected(ErrorCode::unsupported, options.before + " is in " +
                                                      counted_thing(before) + ", " + options.after +
                                                      " in " + counted_thing(after) +
                                                      ": compare recordings of the same event");
    }
    before = analysis::without_addresses(std::move(before), after);
    after = analysis::without_addresses(std::move(after), before);
    constexpr double kHundred = 100;
    report.diff =
        analysis::diff(before, after,
                       {options.normalize, 1 - options.confidence_percent / kHundred,
                        options.view == DiffView::paths, options.json, options.choice.search,
                        report.before.factor, report.after.factor});
    report.warnings = analysis::comparability_warnings(report.before.profile, report.after.profile,
                                                       report.options.choice.average_s.has_value());
    return {};
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
    constexpr double kHundred = 100;
    const analysis::GateFailure& worst = report.failures.front();
    const std::string name = worst.function ? printable(report.diff.functions[*worst.function].name)
                                            : std::string{"the whole"};
    const double allowed = *report.options.fail_above_percent;
    const int digits = digits_that_tell_apart(worst.least * kHundred, allowed);
    std::string text = name + " is worse by at least " + decimal(worst.least * kHundred, digits) +
                       " % of A's whole: --fail-above allows " + decimal(allowed, digits) + " %";
    if (report.failures.size() > 1) {
        text += " (and " + counted(report.failures.size() - 1, "other") + ")";
    }
    print_error(text);
    return kExitGate;
}

bool found_what_was_searched(const DiffReport& report) {
    for (const analysis::FunctionDiff& function : report.diff.functions) {
        if (function.is_chosen) {
            return true;
        }
    }
    return report.options.choice.search.empty();
}

}  // namespace

int run_diff(const DiffVerbOptions& options) {
    DiffReport report;
    report.options = options;
    if (const Result<void> compared = compare(report); !compared) {
        print_error(compared.error().message());
        return kExitFailure;
    }
    if (!found_what_was_searched(report)) {
        print_error("no name contains '" + options.choice.search +
                    "': sample report --view functions lists the names");
        return kExitFailure;
    }
    if (options.fail_above_percent && !report.diff.is_judged) {
        print_error("--fail-above needs the numbers of samples, which " +
                    (report.diff.whole.before.samples == 0 ? options.before : options.after) +
                    " does not have: compare recordings");
        return kExitFailure;
    }
    if (options.fail_above_percent) {
        report.failures = analysis::gate_failures(report.diff, *options.fail_above_percent);
    }
    const int shown = write_to_stdout(
        options.json ? diff_json(report)
                     : diff_view(report, detect_terminal(STDOUT_FILENO, options.color)));
    return shown == kExitOk ? gate(report) : shown;
}

}  // namespace sample::cli

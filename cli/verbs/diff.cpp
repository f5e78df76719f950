// `sample diff`: two files beside each other, or several a side, on standard output; with a gate,
// an exit code.
#include "analysis/diff/diff.h"

#include "analysis/diff/function_match.h"
#include "analysis/load_profile.h"
#include "callgraph/transforms.h"
#include "cli/output.h"
#include "cli/refuse.h"
#include "cli/verbs/verbs.h"
#include "cli/views/diff.h"
#include "cli/views/text.h"
#include "core/units.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sample::cli {
namespace {

/// `profile` as if it had lasted `seconds`: its samples keep their times, so the noise stays known.
Result<void> average(DiffSide& side, std::uint64_t seconds) {
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
    const auto total = static_cast<long double>(root_total(profile));
    if (total * static_cast<long double>(side.factor) >=
        static_cast<long double>(std::numeric_limits<std::uint64_t>::max())) {
        return refuse(
            ErrorCode::unsupported,
            "--average: {} has durations that are too large to be scaled: leave --average out",
            side.file);
    }
    profile.scale = scale;
    return {};
}

std::string counted_thing(const callgraph::Profile& profile) {
    return profile.is_time() ? "time" : printable(profile.metric.unit);
}

Unexpected not_comparable(const DiffSide& one, const DiffSide& other) {
    return refuse(
        ErrorCode::unsupported,
        "{} is in {}, {} in {}: compare recordings of the same event, or exports that say "
        "what they count, as json and pprof do",
        one.file, counted_thing(one.profile), other.file, counted_thing(other.profile));
}

Result<DiffSide> load(const std::string& file, const DiffVerbOptions& options, bool memory) {
    analysis::ProfileChoice choice = options.choice;
    const std::optional<std::uint64_t> average_s = std::exchange(choice.average_s, {});
    // Compilers split and copy functions as they like, from build to build.
    choice.fold_parts = true;
    analysis::Details wanted;
    wanted.times = true;
    wanted.memory = memory || options.normalize_by == callgraph::kMemoryName;
    SAMPLE_TRY(profile, analysis::load_profile(file, choice, wanted));
    DiffSide side{file, std::move(profile)};
    if (average_s) {
        SAMPLE_CHECK(average(side, *average_s));
    }
    if (!options.normalize_by.empty()) {
        side.reference = callgraph::focus(side.profile, options.normalize_by);
        if (root_total(*side.reference) == 0) {
            return refuse(ErrorCode::not_found,
                          "--normalize-by: {} has no time of a function called '{}': sample report "
                          "--view functions lists the names",
                          file, options.normalize_by);
        }
    }
    return side;
}

/// With `memory`, memory management is grouped, whatever was asked for.
Result<std::vector<DiffSide>> load_all(const std::vector<std::string>& files,
                                       const DiffVerbOptions& options, bool memory = false) {
    std::vector<DiffSide> sides;
    for (const std::string& file : files) {
        SAMPLE_TRY(side, load(file, options, memory));
        if (!sides.empty() && sides.front().profile.metric.unit != side.profile.metric.unit) {
            return not_comparable(sides.front(), side);
        }
        sides.push_back(std::move(side));
    }
    return sides;
}

std::vector<const callgraph::Profile*> profiles_of(const std::vector<DiffSide>& sides) {
    std::vector<const callgraph::Profile*> profiles;
    profiles.reserve(sides.size());
    for (const DiffSide& side : sides) {
        profiles.push_back(&side.profile);
    }
    return profiles;
}

std::vector<analysis::Run> runs_of(const std::vector<DiffSide>& sides) {
    std::vector<analysis::Run> runs;
    runs.reserve(sides.size());
    for (const DiffSide& side : sides) {
        runs.push_back({&side.profile, side.factor, side.reference ? &*side.reference : nullptr});
    }
    return runs;
}

/// Every profile without_addresses() of every other.
void leave_out_addresses(DiffReport& report) {
    std::vector<callgraph::Profile*> profiles;
    for (std::vector<DiffSide>* sides : {&report.before, &report.after}) {
        for (DiffSide& side : *sides) {
            profiles.push_back(&side.profile);
        }
    }
    for (callgraph::Profile* profile : profiles) {
        for (const callgraph::Profile* other : profiles) {
            if (other != profile) {
                *profile = analysis::without_addresses(std::move(*profile), *other);
            }
        }
    }
}

bool groups_memory(const std::vector<DiffSide>& sides) {
    return std::any_of(sides.begin(), sides.end(), [](const DiffSide& side) {
        return !callgraph::find_named(side.profile.functions, callgraph::kMemoryName).empty();
    });
}

/// Loads and compares. Errors: what cannot be loaded, or not compared at all.
Result<DiffReport> compare(const DiffVerbOptions& options) {
    SAMPLE_TRY(a, load_all(options.before, options));
    SAMPLE_TRY(b, load_all(options.after, options));
    // As the JSON profile of a recording has it, whatever was asked for.
    if (!options.choice.group_memory && groups_memory(a) != groups_memory(b)) {
        SAMPLE_TRY(grouped_a, load_all(options.before, options, true));
        SAMPLE_TRY(grouped_b, load_all(options.after, options, true));
        a = std::move(grouped_a);
        b = std::move(grouped_b);
    }
    DiffReport report{std::move(a), std::move(b), options, {}, {}, {}};
    const DiffSide& before = report.before.front();
    const DiffSide& after = report.after.front();
    if (before.profile.metric.unit != after.profile.metric.unit) {
        return not_comparable(before, after);
    }
    leave_out_addresses(report);
    report.diff =
        analysis::diff(runs_of(report.before), runs_of(report.after),
                       {options.normalize, 1 - options.confidence_percent / kHundred,
                        options.view == DiffView::paths, options.json, options.choice.search});
    report.warnings =
        analysis::comparability_warnings(profiles_of(report.before), profiles_of(report.after),
                                         options.choice.average_s.has_value());
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
    if (const auto& run = report.diff.without_samples; options.fail_above_percent && run) {
        return refuse(
            "--fail-above needs the numbers of samples, which {} does not have: compare recordings",
            *run < options.before.size() ? options.before[*run]
                                         : options.after[*run - options.before.size()]);
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

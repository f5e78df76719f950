// What `sample diff` found, ready to be shown: the comparison, what to know before believing it,
// and what the gate says.
#pragma once

#include "callgraph/diff.h"
#include "callgraph/profile.h"
#include "cli/diff_options.h"
#include "cli/terminal.h"

#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

struct DiffSide {
    std::string file;
    callgraph::Profile profile;  ///< Its scale says what durations are multiplied by, in all.
    double factor = 1.0;         ///< What those of `profile` still are to be.
};

/// Something that is surely worse by more than --fail-above.
struct GateFailure {
    std::optional<std::size_t> function;  ///< Index into Diff::functions; none: the whole.
    double least = 0;                     ///< It grew by this at least: a part of A's whole.
};

struct DiffReport {
    DiffSide before;
    DiffSide after;
    DiffVerbOptions options;
    callgraph::Diff diff;
    std::vector<std::string> warnings;  ///< Why the two may not be comparable; one line each.
    std::vector<GateFailure> failures;  ///< Greatest first.
};

/// Why the figures of the two may differ although the program does not; one line each.
[[nodiscard]] std::vector<std::string> comparability_warnings(const DiffReport& report);

/// The whole, and functions that both have, whose total surely grew by more than `percent` of A's
/// whole: the low end of the interval is above it. New functions count through their callers.
[[nodiscard]] std::vector<GateFailure> gate_failures(const callgraph::Diff& diff, double percent);

[[nodiscard]] std::string diff_view(const DiffReport& report, const Terminal& terminal);
/// The part of it on one side.
[[nodiscard]] std::string diff_side_view(const char* letter, const DiffSide& side,
                                         const callgraph::Amount& whole, const Terminal& terminal);
[[nodiscard]] std::string diff_json(const DiffReport& report);

}  // namespace sample::cli

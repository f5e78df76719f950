// What `sample diff` found, ready to be shown: the comparison, what to know before believing it,
// and what the gate says.
#pragma once

#include "analysis/diff/diff.h"
#include "callgraph/profile.h"
#include "cli/options/options.h"
#include "cli/views/terminal.h"

#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

struct DiffSide {
    std::string file;
    callgraph::Profile profile;  ///< Its scale says what durations are multiplied by, in all.
    double factor = 1.0;         ///< What those of `profile` still are to be.
};

struct DiffReport {
    DiffSide before;
    DiffSide after;
    DiffVerbOptions options;
    analysis::Diff diff;
    std::vector<std::string> warnings;  ///< Why the two may not be comparable; one line each.
    std::vector<analysis::GateFailure> failures;  ///< Greatest first.
};

[[nodiscard]] std::string diff_view(const DiffReport& report, const Terminal& terminal);
[[nodiscard]] std::string diff_json(const DiffReport& report);

}  // namespace sample::cli

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

/// One recording of a side.
struct DiffSide {
    std::string file;
    callgraph::Profile profile;  ///< Its scale says what durations are multiplied by, in all.
    double factor = 1.0;         ///< What those of `profile` still are to be.
    /// What the figures are divided by, if by a function: the callgraph below it.
    std::optional<callgraph::Profile> reference = {};

    [[nodiscard]] std::uint64_t total() const {
        const std::uint64_t total = profile.nodes.empty() ? 0 : profile.nodes.front().total;
        return factor == 1.0 ? total
                             : static_cast<std::uint64_t>(static_cast<long double>(total) *
                                                          static_cast<long double>(factor));
    }
    [[nodiscard]] std::uint64_t samples() const {
        return profile.nodes.empty() ? 0 : profile.nodes.front().samples;
    }
};

struct DiffReport {
    std::vector<DiffSide> before;
    std::vector<DiffSide> after;
    DiffVerbOptions options;
    analysis::Diff diff;
    std::vector<std::string> warnings;  ///< Why the two may not be comparable; one line each.
    std::vector<analysis::GateFailure> failures;  ///< Greatest first.
};

[[nodiscard]] std::string diff_view(const DiffReport& report, const Terminal& terminal);
[[nodiscard]] std::string diff_json(const DiffReport& report);

}  // namespace sample::cli

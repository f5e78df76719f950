// Whether two profiles can be compared, and whether one is worse than a gate allows.
#pragma once

#include "analysis/diff/diff.h"
#include "callgraph/profile.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {

/// Why the figures of the two may differ although the program does not; one line each. Scales that
/// differ are among them unless the user asked for both by name.
[[nodiscard]] std::vector<std::string> comparability_warnings(const callgraph::Profile& before,
                                                              const callgraph::Profile& after,
                                                              bool scales_are_chosen);

/// Something that is surely worse by more than a gate allows.
struct GateFailure {
    std::optional<std::size_t> function;  ///< Index into Diff::functions; none: the whole.
    double least = 0;                     ///< It grew by this at least: a part of A's whole.
};

/// The whole, and functions that both have, whose total surely grew by more than `percent` of A's
/// whole: the low end of the interval is above it. New functions count through their callers.
/// Greatest first.
[[nodiscard]] std::vector<GateFailure> gate_failures(const Diff& diff, double percent);

}  // namespace sample::analysis

// Profiles made of random numbers, small and nasty: mutual recursion, inlined calls, functions that
// share their name, threads that share stacks, bookings, names that are no UTF-8.
#pragma once

#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {

/// By lines and with a timeline; nodes, functions, threads and samples agree. The same for the same
/// seed.
[[nodiscard]] callgraph::Profile random_profile(std::uint32_t seed);

/// One program's profiles: of three metrics at once, and of each alone.
struct SeveralMetrics {
    std::string name;  ///< What was done to them.
    callgraph::Profile all;
    std::vector<callgraph::Profile> alone;  ///< [0] is of all.metric.
};

/// Random ones as they are, and behind each transform. The further metrics are "allocated", in
/// bytes, and "wall", time like the profile's own; each is spent in stacks, threads and functions
/// that the others have nothing of.
[[nodiscard]] std::vector<SeveralMetrics> random_metrics(std::uint32_t seed);

/// Total and self by all that tells functions apart; without those that have neither.
using FunctionTotals = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;
[[nodiscard]] FunctionTotals function_totals(const callgraph::Profile& profile);
/// The same of what a reader found by functions' indices.
[[nodiscard]] FunctionTotals function_totals(
    const callgraph::Profile& profile,
    const std::map<std::size_t, std::pair<std::int64_t, std::int64_t>>& found);

}  // namespace sample::exports

// What several views have in common.
#pragma once

#include "callgraph/profile.h"
#include "cli/views.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sample::cli {

/// The weight of everything: what 100 % is.
[[nodiscard]] std::uint64_t root_total_ns(const callgraph::Profile& profile) noexcept;

/// The wall-clock length of the session in milliseconds.
[[nodiscard]] std::uint64_t session_ms(const callgraph::Profile& profile) noexcept;

/// A duration in the unit, three digits, without the unit's name.
[[nodiscard]] std::string duration_cell(const callgraph::Profile& profile, std::uint64_t ns,
                                        Unit unit);
/// "ms", "%", with the scale if there is one: "ms ×5".
[[nodiscard]] std::string unit_heading(const callgraph::Profile& profile,
                                       const ViewOptions& options);

/// "./app args  00:00:03.300  (×5: …)": the line above a view.
[[nodiscard]] std::string session_line(const callgraph::Profile& profile, const Terminal& terminal);

/// One line for each thing that a reader must know before believing the figures.
[[nodiscard]] std::vector<std::string> warnings(const callgraph::Profile& profile);

/// How the weight of a line is coloured.
[[nodiscard]] Style heat(double percent) noexcept;

/// Least weight that is shown.
[[nodiscard]] std::uint64_t threshold_ns(const callgraph::Profile& profile,
                                         const ViewOptions& options, double default_percent);

}  // namespace sample::cli

// What several views have in common.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/views.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sample::cli {

/// The weight of everything: what 100 % is.
[[nodiscard]] std::uint64_t root_total_ns(const callgraph::Profile& profile) noexcept;

/// The wall-clock length of the session in milliseconds.
[[nodiscard]] std::uint64_t session_ms(const callgraph::Profile& profile) noexcept;

/// A duration (or count) in the unit, without the unit's name; three digits but for counts.
[[nodiscard]] std::string duration_cell(const callgraph::Profile& profile, std::uint64_t ns,
                                        Unit unit);
/// Room for the widest such cell and for the headings "total", "self", "cpu" with the unit.
[[nodiscard]] std::size_t duration_column(const callgraph::Profile& profile,
                                          const ViewOptions& options);
/// "3.214 s", or "32,140 page-faults".
[[nodiscard]] std::string weight_text(const callgraph::Profile& profile, std::uint64_t ns);
/// "ms", "%", "page-faults", with the scale if there is one: "ms ×5".
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

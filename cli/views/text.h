// What views have in common: functions, nodes, weights and scales of a profile as people read them.
// Numbers and words: core/text.h.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sample::cli {

/// "×5", "x5" in ASCII; empty for 1.
[[nodiscard]] std::string scale_text(double scale, const Terminal& terminal);

/// "…", "..." in ASCII.
[[nodiscard]] std::string_view ellipsis(const Terminal& terminal) noexcept;
/// What fits into `columns`, cut at the end.
[[nodiscard]] std::string cut_end(std::string_view text, std::size_t columns,
                                  const Terminal& terminal);
/// A C++ or Rust name in at most `width` columns (0: as it is). What says least goes first: the
/// contents of template arguments, then of argument lists, then the middle.
[[nodiscard]] std::string shorten_name(std::string_view name, std::size_t width,
                                       const Terminal& terminal);

/// The name, else source:line, else "<anonymous>"; then " <native>" and " <plugin>". Printable.
[[nodiscard]] std::string function_label(const callgraph::Function& function);
/// function_label(), the category's name, or "<root>". Printable.
[[nodiscard]] std::string node_name(const callgraph::Profile& profile, NodeId id);
/// node_name(), then ":12" in a profile by lines, then " <inlined at line 22>". Printable.
[[nodiscard]] std::string node_label(const callgraph::Profile& profile, NodeId id);
/// "app.cpp:12", "app.cpp", or empty; with the folders only if `full`. Printable.
[[nodiscard]] std::string location_text(const callgraph::Function& function, bool full);

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

/// What ends a view: `lines`, and one for each thing that a reader must know before believing the
/// figures; nothing if there is none.
[[nodiscard]] std::string footer(const callgraph::Profile& profile, const Terminal& terminal,
                                 std::string lines);

/// What `used` columns leave of the terminal's width for a text, `least` in any case; 0: all it
/// takes.
[[nodiscard]] std::size_t room_beside(std::size_t used, const Terminal& terminal,
                                      std::size_t least = 20);

/// How the weight of a line is coloured.
[[nodiscard]] Style heat(double percent) noexcept;

/// Least weight that is shown.
[[nodiscard]] std::uint64_t threshold_ns(const callgraph::Profile& profile,
                                         const ViewOptions& options, double default_percent);

}  // namespace sample::cli

// What views have in common: functions, nodes, weights and scales of a profile as people read them.
// Numbers and words: core/text.h.
#pragma once

#include "callgraph/tree.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

/// "×5", "x5" in ASCII; empty for 1.
[[nodiscard]] std::string scale_text(double scale, const Terminal& terminal);

/// " ×33", " x33" in ASCII; empty for 1.
[[nodiscard]] std::string times_text(std::size_t times, const Terminal& terminal);

/// "…", "..." in ASCII.
[[nodiscard]] std::string_view ellipsis(const Terminal& terminal) noexcept;
/// What fits into `columns` (0: all of it), cut at the end.
[[nodiscard]] std::string cut_end(std::string_view text, std::size_t columns,
                                  const Terminal& terminal);
/// A C++ or Rust name in at most `width` columns (0: as it is). What says least goes first: the
/// contents of template arguments, then of argument lists, then the scope. The last component is
/// cut only where it alone has no room.
[[nodiscard]] std::string shorten_name(std::string_view name, std::size_t width,
                                       const Terminal& terminal);
/// The same, or nothing where the last component would be cut.
[[nodiscard]] std::optional<std::string> fit_name(std::string_view name, std::size_t width,
                                                  const Terminal& terminal);

/// The name, else source:line, else "<anonymous>"; then " [jit]" of code made at run time.
/// Printable.
[[nodiscard]] std::string function_label(const callgraph::Function& function);
/// A node's name, and what stands around it: an arrow before a function that was inlined, the line
/// in a profile by lines, and the line of its caller where it was inlined, " :22". Printable.
struct NodeLabel {
    std::string_view before;
    std::string name;
    std::string behind;
};
/// What the nodes of a profile, which outlives this, are called.
class NodeNames {
public:
    explicit NodeNames(const callgraph::Profile& profile)
        : profile_{profile}, categories_{callgraph::category_names(profile)} {}

    /// For programs: callgraph::label() of the function, the category's name, or "<root>".
    [[nodiscard]] std::string raw(NodeId id) const;
    /// For people: function_label(), and the others likewise printable.
    [[nodiscard]] std::string shown(NodeId id) const;
    [[nodiscard]] NodeLabel label(NodeId id, const Terminal& terminal) const;

private:
    const callgraph::Profile& profile_;
    std::vector<const std::string*> categories_;
};
/// "app.cpp:12", "app.cpp", or empty; with the folders only if `full`. Printable.
[[nodiscard]] std::string location_text(std::string_view source, std::uint32_t line, bool full);
/// `name` and behind it, dimmed, the place in `room` columns (0: all they take, with the folders).
/// The place is left out where the name says it, and where it would cost more of the name than
/// arguments.
[[nodiscard]] std::string name_and_place(const std::string& name, std::string_view source,
                                         std::uint32_t line, std::size_t room,
                                         const Terminal& terminal);
/// The same of function_label().
[[nodiscard]] std::string name_and_place(const callgraph::Function& function, std::size_t room,
                                         const Terminal& terminal);

/// The weight of everything: what 100 % is.
[[nodiscard]] std::uint64_t root_total(const callgraph::Profile& profile) noexcept;

/// A number of samples; "-" where the file does not say how many there were.
[[nodiscard]] std::string samples_cell(const callgraph::Profile& profile, std::uint64_t samples);

/// The wall-clock length of the session in milliseconds.
[[nodiscard]] std::uint64_t session_ms(const callgraph::Profile& profile) noexcept;

/// What the weights of a view are, and how both its printers write them.
struct Measure {
    std::string counted;       ///< What they count; empty: nanoseconds.
    std::uint64_t whole = 0;   ///< What 100 % is.
    Unit unit = Unit::weight;  ///< Of cells.
    double scale = 1.0;        ///< What --average multiplied them by.
    int percent_digits = 3;

    [[nodiscard]] bool is_time() const noexcept { return counted.empty(); }
    /// "ms", "%", "page-faults".
    [[nodiscard]] std::string unit_name() const;
    /// "1234.567" (ms), "12.345" (%), "1,234": without the unit, for a table.
    [[nodiscard]] std::string cell(std::uint64_t weight) const;
    /// What stands above such cells: "total ms", "total %", "total page-faults", "total ms ×5".
    [[nodiscard]] std::string heading(std::string_view name, const Terminal& terminal) const;
    /// "3.214 s", or "32,140 page-faults".
    [[nodiscard]] std::string text(std::uint64_t weight) const;
    /// Of a member in JSON: "total_us", "total_count"; and its value.
    [[nodiscard]] std::string key(std::string_view name) const;
    [[nodiscard]] std::uint64_t number(std::uint64_t weight) const noexcept;
};
[[nodiscard]] Measure measure_of(const callgraph::Profile& profile, Unit unit = Unit::weight);

/// "./app args  00:00:03.300  (×5: …)": the line above a view.
[[nodiscard]] std::string session_line(const callgraph::Profile& profile, const Terminal& terminal);
/// "only in zone 'Parse': ...", a line to follow that; empty: the view is of everything.
[[nodiscard]] std::string restriction_line(const callgraph::Profile& profile,
                                           const Terminal& terminal);

/// The node that stands for what a program took before sampling could begin: no function, so that
/// views say it in a line.
[[nodiscard]] bool is_start(const callgraph::Function& function) noexcept;
/// "3.100 ms, 8.2 %, before sampling could begin (exec, loader)"; empty: there is no such time.
[[nodiscard]] std::string start_text(const callgraph::Profile& profile, const Measure& measure);

/// The views that show what programs said of themselves: those that have something to show.
[[nodiscard]] std::vector<std::string> said_views(const callgraph::Profile& profile);
/// "5 zones, 1 frame: see --view zones, frames"; empty: programs said nothing of themselves.
[[nodiscard]] std::string said_text(const callgraph::Profile& profile);
/// "recorded with --freq off", why there are no samples; empty: there are, or could have been.
[[nodiscard]] std::string_view without_samples_text(const callgraph::Profile& profile);

/// What ends a view: `lines`, and one for each thing that a reader must know before believing the
/// figures; nothing if there is none.
[[nodiscard]] std::string footer(const callgraph::Profile& profile, const Terminal& terminal,
                                 std::string lines);

/// What `used` columns leave of `width` for a text, `least` in any case; of 0, which is all it
/// takes, 0.
[[nodiscard]] std::size_t room_beside(std::size_t used, std::size_t width, std::size_t least = 20);

/// `text`, which begins at column `indent`, in lines of the terminal's width; those that follow
/// begin at `indent`, too.
[[nodiscard]] std::string wrapped(std::string_view text, const Terminal& terminal,
                                  std::size_t indent = 0);

/// The terminal has no room for all columns beside a name.
[[nodiscard]] bool is_narrow(const Terminal& terminal) noexcept;

/// How the weight of a line is coloured.
[[nodiscard]] Style heat(double percent) noexcept;

/// Least weight that is shown.
[[nodiscard]] std::uint64_t threshold(std::uint64_t whole, const ViewOptions& options,
                                      double default_percent);

}  // namespace sample::cli

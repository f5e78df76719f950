// The views of `sample report`: a Profile in, text or JSON out. Nothing here reads a file, asks the
// terminal or writes; what the terminal can show comes in as a value.
//
// Text is for people: durations in milliseconds with three digits, or in per cent of the root.
// JSON is for programs: durations are integer microseconds, names are whole, and what was not
// measured is null. In a profile of an event both show counts instead, and JSON calls them
// total_count where it has total_us otherwise. Both end with a line break.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/terminal.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sample::cli {

enum class Unit : std::uint8_t {
    weight,        ///< Milliseconds, or what the profile counts.
    milliseconds,  ///< Only of time.
    percent,
};

struct ViewOptions {
    Terminal terminal;
    Unit unit = Unit::weight;
    /// What weighs less, in per cent of the root, is counted but not shown. Default: 0.5 in the
    /// callgraph, 0 in the functions.
    std::optional<double> min_percent;
    /// The functions view lists only those whose label or source contains this; empty: all.
    std::string search = {};
};

struct SummaryOptions {
    Terminal terminal;
    std::size_t functions = 5;
    /// The recording that was kept: the last lines then say where it is and how to look further.
    std::string kept_file;
};

/// About ten lines: where the time went, the heaviest path, the top functions, how trustworthy the
/// figures are, how the program ended. Names are shortened to the terminal, or to 100 columns.
[[nodiscard]] std::string summary_view(const callgraph::Profile& profile,
                                       const SummaryOptions& options);
[[nodiscard]] std::string summary_json(const callgraph::Profile& profile);

/// An indented tree, heaviest first. A node that is its caller's only shown callee stands below it
/// without a branch, so that deep stacks stay readable.
[[nodiscard]] std::string callgraph_view(const callgraph::Profile& profile,
                                         const ViewOptions& options);
/// Nodes as a flat list, each with the index of its parent: depth is no problem for any reader.
[[nodiscard]] std::string callgraph_json(const callgraph::Profile& profile,
                                         const ViewOptions& options);

/// Flat, by self time.
[[nodiscard]] std::string functions_view(const callgraph::Profile& profile,
                                         const ViewOptions& options);
[[nodiscard]] std::string functions_json(const callgraph::Profile& profile,
                                         const ViewOptions& options);

/// One line a thread, by CPU time.
[[nodiscard]] std::string threads_view(const callgraph::Profile& profile,
                                       const ViewOptions& options);
[[nodiscard]] std::string threads_json(const callgraph::Profile& profile);

/// Every figure that tells how the recording was made and how far it can be trusted.
[[nodiscard]] std::string stats_view(const callgraph::Profile& profile, const ViewOptions& options);
[[nodiscard]] std::string stats_json(const callgraph::Profile& profile);

}  // namespace sample::cli

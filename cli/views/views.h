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
#include <vector>

namespace sample::cli {

enum class Unit : std::uint8_t {
    weight,        ///< Milliseconds, or what the profile counts.
    milliseconds,  ///< Only of time.
    percent,
};

/// What the functions view is sorted by; the name decides between equals.
enum class SortKey : std::uint8_t { self, total, samples, name };

struct ViewOptions {
    Terminal terminal = {};
    Unit unit = Unit::weight;
    /// What weighs less, in per cent of the root, is counted but not shown. Default: 0.5 in the
    /// callgraph and the callers, 0 in the functions.
    std::optional<double> min_percent = {};
    /// The functions view lists only those whose label or source contains this; empty: all.
    std::string search = {};
    bool json = false;
    /// The recording that was kept: the summary then ends with where it is and how to look further.
    std::string kept_file = {};
    /// Whose callers the callers view shows, as callgraph::focus() understands it; empty: those of
    /// all functions. Something must have this name.
    std::string focus = {};
    /// Lines that the summary has among its notes, of which it shows three.
    std::vector<std::string> advice = {};
    SortKey sort = SortKey::self;
    /// The first so many rows of a list or tree.
    std::size_t most_rows = SIZE_MAX;
    /// Of a list or tree only its headings and rows: who it is of and what must be known of it is
    /// said by the caller.
    bool only_rows = false;
};

/// About ten lines: where the time went, the heaviest path, the top functions, how trustworthy the
/// figures are, how the program ended. Names are shortened to the terminal, or to 100 columns.
[[nodiscard]] std::string summary_view(const callgraph::Profile& profile,
                                       const ViewOptions& options);

/// An indented tree, heaviest first. A node that is its caller's only shown callee stands below it
/// without a branch, so that deep stacks stay readable. In JSON, nodes are a flat list, each with
/// the index of its parent: depth is no problem for any reader.
[[nodiscard]] std::string callgraph_view(const callgraph::Profile& profile,
                                         const ViewOptions& options);

/// The same tree upside down, below each function its callers: callgraph::invert(). Small nodes
/// are left out of JSON, too, which has so many.
[[nodiscard]] std::string callers_view(const callgraph::Profile& profile,
                                       const ViewOptions& options);

/// Flat, by self time or another key.
[[nodiscard]] std::string functions_view(const callgraph::Profile& profile,
                                         const ViewOptions& options);

/// Whether --focus, --hide or --search has left something out of the tree, but not of the threads
/// and the stats.
[[nodiscard]] bool is_part(const callgraph::Profile& profile);

/// One line a thread, by CPU time.
[[nodiscard]] std::string threads_view(const callgraph::Profile& profile,
                                       const ViewOptions& options);

/// Every figure that tells how the recording was made and how far it can be trusted.
[[nodiscard]] std::string stats_view(const callgraph::Profile& profile, const ViewOptions& options);

}  // namespace sample::cli

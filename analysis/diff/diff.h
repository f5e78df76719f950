// Two profiles beside each other: what each function, and each path, took in either, and which
// differences are more than the noise of sampling (analysis/diff/noise.h).
//
// Functions are matched as analysis/diff/function_match.h says; a path is the functions on it below
// a category of the same name. Amounts are as in the profiles, recursion counted once. Two families
// of differences are judged, each for itself: the functions' (self and total) with the whole's, and
// the paths'.
//
// Neither covers how a program's runs differ: one recording a side knows nothing of that.
#pragma once

#include "analysis/diff/noise.h"
#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {

/// What one profile spent somewhere.
struct Amount {
    std::uint64_t ns = 0;  ///< Or what the profile counts; scaled by DiffOptions.
    std::uint64_t samples = 0;
    double sampled = 0;  ///< The samples' part of ns; what is left, a clock measured.
    double squares = 0;  ///< The sum of the squares of the samples' weights.

    [[nodiscard]] bool is_nothing() const noexcept { return ns == 0 && samples == 0; }
};

enum class Verdict : std::uint8_t {
    within_noise,
    worse,
    better,
    by_clock,    ///< No samples on either side: measured, but no code's.
    not_judged,  ///< The numbers of samples are not known; or it was not asked for.
};

struct Compared {
    Amount before;
    Amount after;
    Verdict verdict = Verdict::within_noise;
    /// Where the difference lies (in ns; of shares, in parts of the whole). None if not judged, or
    /// not asked for.
    std::optional<Interval> interval;
};

struct FunctionDiff {
    std::string name;  ///< As callgraph::label(): of the later profile, if it has the function.
    std::string source;
    std::string module;
    std::uint32_t line = 0;
    std::uint32_t flags = 0;
    bool is_chosen = true;  ///< False: not in DiffOptions::search.
    Compared self;
    Compared total;

    [[nodiscard]] bool is_new() const noexcept { return total.before.is_nothing(); }
    [[nodiscard]] bool is_gone() const noexcept { return total.after.is_nothing(); }
};

/// A path. nodes[0] is the root; parents come before their children.
struct NodeDiff {
    std::uint32_t parent = 0;
    std::optional<std::uint32_t> function;  ///< Index into Diff::functions; none: a category, root.
    std::string category;                   ///< Its name, if it is one.
    bool is_chosen = true;                  ///< As FunctionDiff::is_chosen, for a path.
    Compared self;
    Compared total;
};

struct DiffOptions {
    bool normalize = false;  ///< Compare shares of each one's whole.
    double error = 0.05;     ///< 1 - confidence.
    bool paths = false;      ///< Make Diff::nodes.
    /// Intervals of all paths; false: only of those that are worse or better, which costs less.
    bool path_intervals = true;
    std::string search;  ///< Judge only functions, and paths over functions, with this in their
                         ///< name or source; empty: all.
    double before_scale = 1.0;  ///< What amounts are multiplied by; 64 bits must hold them.
    double after_scale = 1.0;
};

struct Diff {
    bool is_normalized = false;
    bool is_judged = false;  ///< False if either profile has no numbers of samples.
    Compared whole;          ///< Of shares, never judged.
    std::vector<FunctionDiff> functions;
    std::vector<NodeDiff> nodes;
    Level functions_level;  ///< At which the intervals of the whole and the functions are.
    Level nodes_level;

    /// What is compared: ns, or the share of the whole.
    [[nodiscard]] double value_before(const Compared& compared) const noexcept;
    [[nodiscard]] double value_after(const Compared& compared) const noexcept;
    [[nodiscard]] double difference(const Compared& compared) const noexcept {
        return value_after(compared) - value_before(compared);
    }
};

/// The profiles should have parts of functions folded (callgraph/rename.h) and be
/// without_addresses() of each other. Weights of single samples are taken from their timelines;
/// without one, the samples of a place count as equal. O(nodes + samples + functions log
/// functions).
[[nodiscard]] Diff diff(const callgraph::Profile& before, const callgraph::Profile& after,
                        const DiffOptions& options);

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

// Two programs beside each other: what each function, and each path, took in either, and which
// differences are more than noise (analysis/diff/noise.h). Either side is one recording or several;
// of several, the mean is compared.
//
// Functions are matched as analysis/diff/function_match.h says; a path is the functions on it below
// a category of the same name. Amounts are as in the profiles, recursion counted once. Two families
// of differences are judged, each for itself: the functions' (self and total) with the whole's, and
// the paths'.
//
// How a program's runs differ is covered by several recordings a side: one knows nothing of that.
#pragma once

#include "analysis/diff/function_match.h"
#include "analysis/diff/noise.h"
#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::analysis {

/// What one side spent somewhere: the mean of its runs.
struct Amount {
    std::uint64_t weight = 0;   ///< Scaled by Run::scale.
    std::uint64_t samples = 0;  ///< Of all runs.
    double value = 0;        ///< What is compared: the weight, or the share of the run's reference.
    double sampled = 0;      ///< The samples' part of value; what is left, a clock measured.
    double squares = 0;      ///< The sum of the squares of the samples' parts of value.
    double run_squares = 0;  ///< Likewise of the runs' parts.

    [[nodiscard]] bool is_nothing() const noexcept { return weight == 0 && samples == 0; }
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
    /// Where the difference lies (in the weight; of shares, in parts of the whole). None if not
    /// judged, or not asked for.
    std::optional<Interval> interval;

    [[nodiscard]] double difference() const noexcept { return after.value - before.value; }
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

/// One recording of a side.
struct Run {
    const callgraph::Profile* profile = nullptr;
    double scale = 1.0;  ///< What amounts are multiplied by; 64 bits must hold them.
    /// With DiffOptions::normalize, by whose whole the run's amounts are divided; null: its own.
    const callgraph::Profile* reference = nullptr;
};

struct DiffOptions {
    bool normalize = false;  ///< Compare shares of each run's reference.
    double error = 0.05;     ///< 1 - confidence.
    bool paths = false;      ///< Make Diff::nodes.
    /// Intervals of all paths; false: only of those that are worse or better, which costs less.
    bool path_intervals = true;
    std::string search;  ///< Judge only functions, and paths over functions, with this in their
                         ///< name or source; empty: all.
};

struct Diff {
    bool is_normalized = false;
    bool is_judged = false;  ///< False if a profile has no numbers of samples.
    /// The first such profile: an index into those before, then those after.
    std::optional<std::size_t> without_samples;
    Compared whole;  ///< Of shares of itself, never judged.
    std::vector<FunctionDiff> functions;
    std::vector<NodeDiff> nodes;
    Level functions_level;  ///< At which the intervals of the whole and the functions are.
    Level nodes_level;
};

/// Neither side is empty; both have several runs, or both have one. The profiles should have parts
/// of functions folded (callgraph/transforms.h) and be without_addresses() of each other. Weights
/// of single samples are taken from their timelines; without one, the samples of a place count as
/// equal. O(nodes + samples + functions log functions).
[[nodiscard]] Diff diff(std::span<const Run> before, std::span<const Run> after,
                        const DiffOptions& options);

/// "A", or of several runs "A1", "A2", ...: how `side` calls its run at `index`.
[[nodiscard]] std::string run_name(char side, std::size_t index, std::size_t runs);

/// Why the figures may differ although the program does not; one line each. Scales that differ are
/// among them unless the user asked for them by name.
[[nodiscard]] std::vector<std::string> comparability_warnings(Profiles before, Profiles after,
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

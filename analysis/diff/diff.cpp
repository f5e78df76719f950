#include "analysis/diff/diff.h"

#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "core/units.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

namespace sample::analysis {

namespace {

/// What the samples of a timeline weigh, by node.
void add_weights(std::vector<Amount>& self, const callgraph::Timeline& timeline) {
    for (const callgraph::Timeline::Thread& thread : timeline.threads) {
        callgraph::SampleSeries::Reader reader = thread.samples->read();
        for (callgraph::TimedWeight sample; reader.next(sample);) {
            const NodeId node = timeline.nodes[sample.place];
            if (!sample.is_booking && !node.is_none()) {
                const auto weight = static_cast<double>(sample.weight);
                self[node.value].sampled += weight;
                self[node.value].squares += weight * weight;
            }
        }
    }
}

/// Where no timeline says otherwise, all samples of a node count as equal.
void add_even_weights(std::vector<Amount>& self, const callgraph::Profile& profile) {
    for (std::size_t i = 0; i < profile.nodes.size(); ++i) {
        const callgraph::Node& node = profile.nodes[i];
        if (node.self_samples != 0 && self[i].squares == 0) {
            const auto weight = static_cast<double>(node.self);
            self[i].sampled = weight;
            self[i].squares = weight * weight / static_cast<double>(node.self_samples);
        }
    }
}

void scale_by(std::vector<Amount>& amounts, double scale) {
    if (scale == 1.0) {
        return;
    }
    for (Amount& amount : amounts) {
        amount.weight = static_cast<std::uint64_t>(static_cast<long double>(amount.weight) *
                                                   static_cast<long double>(scale));
        amount.sampled *= scale;
        amount.squares *= scale * scale;
    }
}

void add_amount(Amount& to, const Amount& amount) noexcept {
    to.weight += amount.weight;
    to.samples += amount.samples;
    to.sampled += amount.sampled;
    to.squares += amount.squares;
}

/// Adds a run's amount to its side's, divided by `divisor`; 0: there is nothing to divide by.
void add_run(Amount& side, const Amount& run, double divisor) noexcept {
    side.weight += run.weight;
    side.samples += run.samples;
    if (divisor > 0) {
        const double value = static_cast<double>(run.weight) / divisor;
        side.value += value;
        side.sampled += run.sampled / divisor;
        side.squares += run.squares / (divisor * divisor);
        side.run_squares += value * value;
    }
}

struct NodeAmounts {
    std::vector<NodeId> order;   ///< Every node, parents before children.
    std::vector<Amount> self;    ///< By a NodeId's value.
    std::vector<Amount> totals;  ///< The same.
};

/// Amounts are multiplied by `scale`. O(nodes + samples).
NodeAmounts node_amounts(const callgraph::Profile& profile, double scale) {
    NodeAmounts result;
    result.order = callgraph::preorder(profile);
    result.self.resize(profile.nodes.size());
    if (profile.timeline) {
        add_weights(result.self, *profile.timeline);
    }
    add_even_weights(result.self, profile);
    for (std::size_t i = 0; i < profile.nodes.size(); ++i) {
        result.self[i].weight = profile.nodes[i].self;
        result.self[i].samples = profile.nodes[i].self_samples;
    }
    result.totals = result.self;
    for (std::size_t i = result.order.size(); i-- > 1;) {
        const NodeId id = result.order[i];
        add_amount(result.totals[profile.node(id).parent.value], result.totals[id.value]);
    }
    scale_by(result.self, scale);
    scale_by(result.totals, scale);
    return result;
}

struct FunctionAmounts {
    std::vector<Amount> self;
    std::vector<Amount> totals;  ///< Recursion counted once.
};

/// `number_of`, by FunctionId - 1, says which of `count` functions a function is counted as.
FunctionAmounts function_amounts(const callgraph::Profile& profile, const NodeAmounts& nodes,
                                 std::span<const std::uint32_t> number_of, std::size_t count) {
    FunctionAmounts result{std::vector<Amount>(count), std::vector<Amount>(count)};
    std::vector<std::uint32_t> on_stack(count);
    std::vector<NodeId> path;
    const auto function_at = [&](NodeId id) { return profile.node(id).function; };
    for (const NodeId id : nodes.order) {
        while (!path.empty() && path.back() != profile.node(id).parent) {
            if (const FunctionId left = function_at(path.back()); !left.is_none()) {
                --on_stack[number_of[left.value - 1]];
            }
            path.pop_back();
        }
        path.push_back(id);
        if (function_at(id).is_none()) {
            continue;
        }
        const std::uint32_t function = number_of[function_at(id).value - 1];
        add_amount(result.self[function], nodes.self[id.value]);
        if (on_stack[function]++ == 0) {
            add_amount(result.totals[function], nodes.totals[id.value]);
        }
    }
    return result;
}

/// The name that a category has in every recording: without the process's id, and without the
/// name of the program's own file.
std::string stable_name(std::string_view category, std::string_view program) {
    if (const std::size_t pid = category.rfind(" (");
        pid != std::string_view::npos && category.ends_with(')') &&
        category.find_first_not_of("0123456789", pid + 2) == category.size() - 1) {
        category = category.substr(0, pid);
    }
    const std::string_view rest = category.substr(std::min(program.size(), category.size()));
    if (!program.empty() && category.starts_with(program) &&
        (rest.empty() || rest.starts_with(": "))) {
        return "[program]" + std::string{rest};
    }
    return std::string{category};
}

/// A run while the comparison is made.
struct Recorded {
    const callgraph::Profile& profile;
    const std::vector<std::uint32_t>& functions;  ///< [FunctionId - 1]: index into Diff::functions.
    Amount Compared::*side;
    double scale;       ///< To what the run adds to the mean of its side.
    NodeAmounts nodes;  ///< Scaled.
    Amount reference;   ///< Likewise: what its amounts are divided by.
    double divisor;     ///< To the value that is compared.
};

/// All trees as one.
class Merger {
public:
    Merger(Diff& result, std::span<const Recorded> runs) : result_{result} {
        std::size_t most = 0;
        std::size_t sum = 1;
        for (const Recorded& run : runs) {
            most = std::max(most, run.profile.nodes.size());
            sum += run.profile.nodes.size();
        }
        // As many as there can be: what is not used is never touched, and nothing is ever moved.
        result_.nodes.reserve(sum);
        result_.nodes.resize(1);
        children_.reserve(most);
    }

    void add(const Recorded& run) {
        const std::vector<std::uint32_t> index_of = indices(run);
        std::vector<Amount> self(result_.nodes.size());
        std::vector<Amount> totals(result_.nodes.size());
        for (const NodeId id : run.nodes.order) {
            const std::uint32_t index = index_of[id.value];
            add_amount(self[index], run.nodes.self[id.value]);
            // A node that has become one with its parent is in its total already.
            if (id.value == 0 || index != index_of[run.profile.node(id).parent.value]) {
                add_amount(totals[index], run.nodes.totals[id.value]);
            }
        }
        for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
            add_run(result_.nodes[i].self.*run.side, self[i], run.divisor);
            add_run(result_.nodes[i].total.*run.side, totals[i], run.divisor);
        }
    }

private:
    /// Of Diff::nodes, by a NodeId's value.
    std::vector<std::uint32_t> indices(const Recorded& run) {
        std::unordered_map<std::uint32_t, const std::string*> categories;
        for (const callgraph::Category& category : run.profile.categories) {
            categories.emplace(category.node.value, &category.name);
        }
        const std::string_view program = program_of(run.profile);
        std::vector<std::uint32_t> index_of(run.profile.nodes.size());
        for (const NodeId id : run.nodes.order) {
            const callgraph::Node& node = run.profile.node(id);
            std::uint32_t& index = index_of[id.value];
            if (const auto category = categories.find(id.value); category != categories.end()) {
                index = category_node(*category->second, program);
            } else if (id.value != 0) {
                index = node.function.is_none() ? index_of[node.parent.value]
                                                : child(index_of[node.parent.value],
                                                        run.functions[node.function.value - 1]);
            }
        }
        return index_of;
    }

    std::uint32_t add_node(std::uint32_t parent) {
        result_.nodes.emplace_back().parent = parent;
        return static_cast<std::uint32_t>(result_.nodes.size() - 1);
    }

    std::uint32_t category_node(const std::string& name, std::string_view program) {
        const auto [found, is_new] = categories_.try_emplace(stable_name(name, program), 0);
        if (is_new) {
            found->second = add_node(0);
        }
        result_.nodes[found->second].category = name;
        return found->second;
    }

    std::uint32_t child(std::uint32_t parent, std::uint32_t function) {
        constexpr unsigned kParentShift = 32;
        const auto [found, is_new] =
            children_.try_emplace((std::uint64_t{parent} << kParentShift) | function, 0);
        if (is_new) {
            found->second = add_node(parent);
            result_.nodes.back().function = function;
        }
        return found->second;
    }

    Diff& result_;
    std::unordered_map<std::string, std::uint32_t> categories_;
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

/// Fills Diff::nodes; what the runs know of nodes is used up.
void merge_paths(Diff& result, std::span<Recorded> runs) {
    Merger merger{result, runs};
    for (Recorded& run : runs) {
        merger.add(run);
        run.nodes = {};
    }
}

void add_functions(Diff& result, const Recorded& run) {
    std::vector<std::uint64_t> heaviest(result.functions.size());
    for (std::size_t i = 0; i < run.profile.functions.size(); ++i) {
        const callgraph::Function& function = run.profile.functions[i];
        FunctionDiff& diff = result.functions[run.functions[i]];
        std::uint64_t& most = heaviest[run.functions[i]];
        if (most != 0 && function.total <= most) {
            continue;
        }
        most = std::max<std::uint64_t>(function.total, 1);
        diff.name = callgraph::label(function);
        diff.source = function.source;
        diff.line = function.line;
        diff.flags = function.flags;
        diff.module = run.profile.module_of(function).name;
    }
    const FunctionAmounts amounts =
        function_amounts(run.profile, run.nodes, run.functions, result.functions.size());
    for (std::size_t i = 0; i < result.functions.size(); ++i) {
        add_run(result.functions[i].self.*run.side, amounts.self[i], run.divisor);
        add_run(result.functions[i].total.*run.side, amounts.totals[i], run.divisor);
    }
}

/// What is known of a side as a whole.
struct Side {
    double runs = 0;
    double period = 0;  ///< What a sample adds to a value where nothing is special.
    Amount reference;   ///< What values are shares of.
};

Amount whole_of(const NodeAmounts& nodes) {
    return nodes.totals.empty() ? Amount{} : nodes.totals.front();
}

double period_of(const Recorded& run) {
    const callgraph::Stats& stats = run.profile.stats;
    if (stats.requested_hz != 0) {
        return run.scale * kNsPerSecond / stats.requested_hz / run.divisor;
    }
    if (stats.period != 0) {
        return run.scale * static_cast<double>(stats.period) / run.divisor;
    }
    const Amount whole = whole_of(run.nodes);
    return whole.sampled / static_cast<double>(whole.samples) / run.divisor;
}

/// Turns amounts into estimates, and estimates into verdicts.
class Judge {
public:
    Judge(const Diff& result, const DiffOptions& options, bool is_share_of_whole,
          const Side& before, const Side& after)
        : result_{result},
          error_{options.error},
          is_share_of_whole_{is_share_of_whole},
          before_{before},
          after_{after} {}

    /// Judges a family of differences; returns the level at which their intervals are. Without
    /// `all_intervals` only what is worse or better gets one.
    [[nodiscard]] Level judge(const std::vector<Compared*>& family, bool all_intervals) const {
        // Most paths have too few samples to tell anything.
        std::vector<Difference> differences;
        std::vector<Compared*> telling;
        for (Compared* each : family) {
            const Difference difference = difference_of(*each);
            if (can_tell(difference, error_)) {
                differences.push_back(difference);
                telling.push_back(each);
            }
        }
        const UsualSpread usual = usual_spread(differences);
        for (Difference& difference : differences) {
            moderate(difference, usual, error_);
        }
        const Called called = call(differences, error_);
        for (const std::size_t i : called.indices) {
            telling[i]->interval = interval_of(differences[i], called.level.error);
            telling[i]->verdict = telling[i]->interval->low > 0 ? Verdict::worse : Verdict::better;
        }
        for (Compared* each : family) {
            if (all_intervals && !each->interval) {
                Difference difference = difference_of(*each);
                moderate(difference, usual, error_);
                each->interval = interval_of(difference, called.level.error);
            }
        }
        return called.level;
    }

    /// Adds `each` to `family` if there is something to judge.
    void add(std::vector<Compared*>& family, Compared& each, bool is_chosen = true) const {
        if (!is_chosen || !result_.is_judged) {
            each.verdict = Verdict::not_judged;
        } else if (each.before.samples == 0 && each.after.samples == 0) {
            const bool is_nothing = each.before.weight == 0 && each.after.weight == 0;
            each.verdict = is_nothing ? Verdict::within_noise : Verdict::by_clock;
        } else {
            each.verdict = Verdict::within_noise;
            family.push_back(&each);
        }
    }

private:
    /// What a sample of `amount` stands for, as far as its own samples tell.
    static double weight_of(const Amount& amount) {
        return amount.sampled > 0 ? amount.squares / amount.sampled : 0;
    }

    [[nodiscard]] Difference difference_of(const Compared& each) const {
        // Whether some samples are heavy is seen on both sides together: with few of them, one side
        // may by chance have none. Weights are compared in periods, which need not be the same.
        const double before = before_.period;
        const double after = after_.period;
        const double heaviness =
            (each.before.squares / (before * before) + each.after.squares / (after * after)) /
            (each.before.sampled / before + each.after.sampled / after);
        const double least = std::isfinite(heaviness) && heaviness > 0 ? heaviness : 1;
        return {
            estimate(each.before, before_.reference,
                     std::max(weight_of(each.before), least * before)),
            estimate(each.after, after_.reference, std::max(weight_of(each.after), least * after)),
            spread_of_difference(spread(each.before, before_.runs),
                                 spread(each.after, after_.runs))};
    }

    /// `weight`: of a sample.
    [[nodiscard]] Estimate estimate(const Amount& amount, const Amount& reference,
                                    double weight) const {
        const double clock = std::max(amount.value - amount.sampled, 0.0);
        if (is_share_of_whole_) {
            return {amount.sampled / weight, weight, clock, reference.sampled / weight};
        }
        if (result_.is_normalized && amount.sampled > 0) {
            // The reference's noise adds to it, as if both were of other samples: that errs on the
            // safe side where they are of the same ones.
            weight += amount.value * amount.value * reference.squares / amount.sampled;
        }
        return {amount.sampled / weight, weight, clock, 0};
    }

    /// Of the mean.
    static Spread spread(const Amount& amount, double runs) {
        const double squares = amount.run_squares - amount.value * amount.value / runs;
        return runs > 1 ? Spread{std::max(squares, 0.0) * runs / (runs - 1), runs - 1} : Spread{};
    }

    const Diff& result_;
    double error_;
    bool is_share_of_whole_;
    const Side& before_;
    const Side& after_;
};

/// Leaves only what has `text` in its name or source to be judged, and shown.
void choose(Diff& result, const std::string& text, std::span<const Recorded> runs) {
    for (FunctionDiff& function : result.functions) {
        function.is_chosen = false;
    }
    for (const Recorded& run : runs) {
        for (const FunctionId id : find_functions(run.profile, text)) {
            result.functions[run.functions[id.value - 1]].is_chosen = true;
        }
    }
}

/// Paths over what was chosen.
void choose_nodes(Diff& result) {
    for (NodeDiff& node : result.nodes) {
        node.is_chosen = (&node != result.nodes.data() && result.nodes[node.parent].is_chosen) ||
                         (node.function && result.functions[*node.function].is_chosen);
    }
}

void judge_functions(Diff& result, const Judge& judge, bool has_constant_whole) {
    std::vector<Compared*> family;
    judge.add(family, result.whole, !has_constant_whole);
    for (FunctionDiff& function : result.functions) {
        judge.add(family, function.self, function.is_chosen);
        judge.add(family, function.total, function.is_chosen);
    }
    result.functions_level = judge.judge(family, true);
}

void judge_nodes(Diff& result, const Judge& judge, bool all_intervals) {
    std::vector<Compared*> family;
    for (NodeDiff& node : result.nodes) {
        // The root is the whole.
        const bool is_chosen = node.is_chosen && &node != result.nodes.data();
        judge.add(family, node.self, is_chosen);
        judge.add(family, node.total, is_chosen);
    }
    result.nodes_level = judge.judge(family, all_intervals);
}

/// The runs of both sides; `match` must outlive them.
std::vector<Recorded> recorded(std::span<const Run> before, std::span<const Run> after,
                               const FunctionMatch& match, bool normalize) {
    std::vector<Recorded> result;
    const auto add = [&](std::span<const Run> side, Amount Compared::*amount) {
        const auto runs = static_cast<double>(side.size());
        for (const Run& run : side) {
            const double scale = run.scale / runs;
            NodeAmounts nodes = node_amounts(*run.profile, scale);
            const Amount reference =
                whole_of(run.reference == nullptr ? nodes : node_amounts(*run.reference, scale));
            const double divisor = normalize ? runs * static_cast<double>(reference.weight) : 1;
            result.push_back({*run.profile, match.numbers[result.size()], amount, scale,
                              std::move(nodes), reference, divisor});
        }
    };
    add(before, &Compared::before);
    add(after, &Compared::after);
    return result;
}

Side side_of(std::span<const Recorded> runs) {
    Side side{static_cast<double>(runs.size()), 0, {}};
    for (const Recorded& run : runs) {
        side.period += period_of(run) / side.runs;
        add_run(side.reference, run.reference, run.divisor);
    }
    return side;
}

}  // namespace

Diff diff(std::span<const Run> before, std::span<const Run> after, const DiffOptions& options) {
    const auto profiles = [](std::span<const Run> runs) {
        std::vector<const callgraph::Profile*> result;
        for (const Run& run : runs) {
            result.push_back(run.profile);
        }
        return result;
    };
    const FunctionMatch match = match_functions(profiles(before), profiles(after));
    std::vector<Recorded> runs = recorded(before, after, match, options.normalize);
    Diff result;
    result.is_normalized = options.normalize;
    result.functions.resize(match.count);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Amount whole = whole_of(runs[i].nodes);
        add_run(result.whole.*runs[i].side, whole, runs[i].divisor);
        add_functions(result, runs[i]);
        if (!result.without_samples && (whole.samples == 0 || !(whole.squares > 0))) {
            result.without_samples = i;
        }
    }
    result.is_judged = !result.without_samples;
    if (!options.search.empty()) {
        choose(result, options.search, runs);
    }
    const bool is_share_of_whole = options.normalize && before.front().reference == nullptr;
    const Side first = side_of(std::span{runs}.first(before.size()));
    const Side second = side_of(std::span{runs}.subspan(before.size()));
    const Judge judge{result, options, is_share_of_whole, first, second};
    judge_functions(result, judge, is_share_of_whole);
    if (options.paths) {
        merge_paths(result, runs);
        if (!options.search.empty()) {
            choose_nodes(result);
        }
        judge_nodes(result, judge, options.path_intervals);
    }
    return result;
}

}  // namespace sample::analysis

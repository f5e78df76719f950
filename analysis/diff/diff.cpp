#include "analysis/diff/diff.h"

#include "analysis/diff/function_match.h"
#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "callgraph/tree.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

namespace sample::analysis {

namespace {

double share(const Amount& part, const Amount& whole) noexcept {
    return whole.ns == 0 ? 0 : static_cast<double>(part.ns) / static_cast<double>(whole.ns);
}

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
            const auto ns = static_cast<double>(node.self_ns);
            self[i].sampled = ns;
            self[i].squares = ns * ns / static_cast<double>(node.self_samples);
        }
    }
}

void scale_by(std::vector<Amount>& amounts, double scale) {
    if (scale == 1.0) {
        return;
    }
    for (Amount& amount : amounts) {
        amount.ns = static_cast<std::uint64_t>(static_cast<long double>(amount.ns) *
                                               static_cast<long double>(scale));
        amount.sampled *= scale;
        amount.squares *= scale * scale;
    }
}

void add_amount(Amount& to, const Amount& amount) noexcept {
    to.ns += amount.ns;
    to.samples += amount.samples;
    to.sampled += amount.sampled;
    to.squares += amount.squares;
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
        result.self[i].ns = profile.nodes[i].self_ns;
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

/// Either side of the comparison while it is made.
struct Side {
    const callgraph::Profile& profile;
    const std::vector<std::uint32_t>& functions;  ///< [FunctionId - 1]: index into Diff::functions.
    Amount Compared::*amount;
    NodeAmounts nodes;
};

/// The two trees as one.
class Merger {
public:
    Merger(Diff& result, const callgraph::Profile& before, const callgraph::Profile& after)
        : result_{result} {
        // As many as there can be: what is not used is never touched, and nothing is ever moved.
        result_.nodes.reserve(1 + before.nodes.size() + after.nodes.size());
        result_.nodes.resize(1);
        children_.reserve(std::max(before.nodes.size(), after.nodes.size()));
    }

    void add(const Side& side) {
        std::unordered_map<std::uint32_t, const std::string*> categories;
        for (const callgraph::Category& category : side.profile.categories) {
            categories.emplace(category.node.value, &category.name);
        }
        const std::string_view program = program_of(side.profile);
        std::vector<std::uint32_t> index_of(side.profile.nodes.size());
        for (const NodeId id : side.nodes.order) {
            const callgraph::Node& node = side.profile.node(id);
            std::uint32_t& index = index_of[id.value];
            if (const auto category = categories.find(id.value); category != categories.end()) {
                index = category_node(*category->second, program);
            } else if (id.value != 0) {
                index = node.function.is_none() ? index_of[node.parent.value]
                                                : child(index_of[node.parent.value],
                                                        side.functions[node.function.value - 1]);
            }
            add_amount(result_.nodes[index].self.*side.amount, side.nodes.self[id.value]);
            // A node that has become one with its parent is in its total already.
            if (id.value == 0 || index != index_of[node.parent.value]) {
                add_amount(result_.nodes[index].total.*side.amount, side.nodes.totals[id.value]);
            }
        }
    }

private:
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

/// Fills Diff::nodes; what the sides know of nodes is used up.
void merge_paths(Diff& result, Side& first, Side& second) {
    Merger merger{result, first.profile, second.profile};
    for (Side* side : {&first, &second}) {
        merger.add(*side);
        side->nodes = {};
    }
}

void add_functions(Diff& result, const Side& side) {
    std::vector<std::uint64_t> heaviest(result.functions.size());
    for (std::size_t i = 0; i < side.profile.functions.size(); ++i) {
        const callgraph::Function& function = side.profile.functions[i];
        FunctionDiff& diff = result.functions[side.functions[i]];
        std::uint64_t& most = heaviest[side.functions[i]];
        if (most != 0 && function.total_ns <= most) {
            continue;
        }
        most = std::max<std::uint64_t>(function.total_ns, 1);
        diff.name = callgraph::label(function);
        diff.source = function.source;
        diff.line = function.line;
        diff.flags = function.flags;
        diff.module = side.profile.module_of(function).name;
    }
    const FunctionAmounts amounts =
        function_amounts(side.profile, side.nodes, side.functions, result.functions.size());
    for (std::size_t i = 0; i < result.functions.size(); ++i) {
        result.functions[i].self.*side.amount = amounts.self[i];
        result.functions[i].total.*side.amount = amounts.totals[i];
    }
}

/// What a sample stands for where nothing is special.
struct Periods {
    double before = 0;
    double after = 0;
};

double period_of(const callgraph::Profile& profile, const Amount& whole, double scale) {
    constexpr double kNsPerSecond = 1e9;
    if (profile.stats.requested_hz != 0) {
        return scale * kNsPerSecond / profile.stats.requested_hz;
    }
    if (profile.stats.period != 0) {
        return scale * static_cast<double>(profile.stats.period);
    }
    return whole.sampled / static_cast<double>(whole.samples);
}

/// Turns amounts into estimates, and estimates into verdicts.
class Judge {
public:
    Judge(Diff& result, double error, Periods periods)
        : result_{result}, error_{error}, periods_{periods} {}

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
        const Called called = call(differences, error_);
        for (const std::size_t i : called.indices) {
            telling[i]->interval = interval_of(differences[i], called.level.error);
            telling[i]->verdict = telling[i]->interval->low > 0 ? Verdict::worse : Verdict::better;
        }
        for (Compared* each : family) {
            if (all_intervals && !each->interval) {
                each->interval = interval_of(difference_of(*each), called.level.error);
            }
        }
        return called.level;
    }

    /// Adds `each` to `family` if there is something to judge.
    void add(std::vector<Compared*>& family, Compared& each, bool is_chosen = true) const {
        if (!is_chosen || !result_.is_judged) {
            each.verdict = Verdict::not_judged;
        } else if (each.before.samples == 0 && each.after.samples == 0) {
            const bool is_nothing = each.before.ns == 0 && each.after.ns == 0;
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
        const double before = periods_.before;
        const double after = periods_.after;
        const double heaviness =
            (each.before.squares / (before * before) + each.after.squares / (after * after)) /
            (each.before.sampled / before + each.after.sampled / after);
        const double least = std::isfinite(heaviness) && heaviness > 0 ? heaviness : 1;
        return {estimate(each.before, result_.whole.before,
                         std::max(weight_of(each.before), least * before)),
                estimate(each.after, result_.whole.after,
                         std::max(weight_of(each.after), least * after))};
    }

    /// `weight`: of a sample.
    [[nodiscard]] Estimate estimate(const Amount& amount, const Amount& whole,
                                    double weight) const {
        const double clock = static_cast<double>(amount.ns) - amount.sampled;
        Estimate estimate{amount.sampled / weight, weight, std::max(clock, 0.0), 0};
        if (result_.is_normalized) {
            const auto all = static_cast<double>(whole.ns);
            estimate.of = whole.sampled / weight;
            estimate.unit /= all;
            estimate.fixed /= all;
        }
        return estimate;
    }

    Diff& result_;
    double error_;
    Periods periods_;
};

/// Leaves only what has `text` in its name or source to be judged, and shown.
void choose(Diff& result, const std::string& text, const Side& before, const Side& after) {
    for (FunctionDiff& function : result.functions) {
        function.is_chosen = false;
    }
    for (const Side* side : {&before, &after}) {
        for (const FunctionId id : find_functions(side->profile, text)) {
            result.functions[side->functions[id.value - 1]].is_chosen = true;
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

void judge_functions(Diff& result, const Judge& judge) {
    std::vector<Compared*> family;
    judge.add(family, result.whole, !result.is_normalized);
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

}  // namespace

double Diff::value_before(const Compared& compared) const noexcept {
    return is_normalized ? share(compared.before, whole.before)
                         : static_cast<double>(compared.before.ns);
}

double Diff::value_after(const Compared& compared) const noexcept {
    return is_normalized ? share(compared.after, whole.after)
                         : static_cast<double>(compared.after.ns);
}

Diff diff(const callgraph::Profile& before, const callgraph::Profile& after,
          const DiffOptions& options) {
    const FunctionMatch match = match_functions(before, after);
    Side first{before, match.before, &Compared::before, node_amounts(before, options.before_scale)};
    Side second{after, match.after, &Compared::after, node_amounts(after, options.after_scale)};
    Diff result;
    result.is_normalized = options.normalize;
    result.functions.resize(match.count);
    for (const Side* side : {&first, &second}) {
        if (!side->nodes.totals.empty()) {
            result.whole.*side->amount = side->nodes.totals.front();
        }
        add_functions(result, *side);
    }
    const auto says_its_samples = [](const Amount& whole) {
        return whole.samples != 0 && whole.squares > 0;
    };
    result.is_judged =
        says_its_samples(result.whole.before) && says_its_samples(result.whole.after);
    if (!options.search.empty()) {
        choose(result, options.search, first, second);
    }
    const Judge judge{result,
                      options.error,
                      {period_of(before, result.whole.before, options.before_scale),
                       period_of(after, result.whole.after, options.after_scale)}};
    judge_functions(result, judge);
    if (options.paths) {
        merge_paths(result, first, second);
        if (!options.search.empty()) {
            choose_nodes(result);
        }
        judge_nodes(result, judge, options.path_intervals);
    }
    return result;
}

}  // namespace sample::analysis

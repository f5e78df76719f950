#include "analysis/diff/amounts.h"

#include "callgraph/tree.h"

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

}  // namespace

void add_amount(Amount& to, const Amount& amount) noexcept {
    to.ns += amount.ns;
    to.samples += amount.samples;
    to.sampled += amount.sampled;
    to.squares += amount.squares;
}

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

}  // namespace sample::analysis

#include "callgraph/tree.h"

#include "callgraph/groups.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace sample::callgraph {

struct TreeBuilder::Sums {
    std::vector<std::uint64_t> total;
    std::vector<std::uint64_t> samples;
    /// By node: its children, heaviest first; behind them, as one group more, what is left out.
    Groups children;
};

namespace {

/// Categories' nodes share their function (none) and parent; this keeps their keys apart. The
/// category's number takes the function's place until finish().
constexpr std::uint32_t kCategoryKey = 0x80000000;

/// Leaves out the functions that no node names, and renumbers the nodes' and Profile::memory.
void drop_unused_functions(Profile& profile) {
    std::vector<FunctionId> renumbered(profile.functions.size() + 1);
    for (const Node& node : profile.nodes) {
        renumbered[node.function.value] = node.function;
    }
    std::uint32_t kept = 0;
    for (std::uint32_t old = 1; old < renumbered.size(); ++old) {
        if (renumbered[old].is_none()) {
            continue;
        }
        if (kept != old - 1) {
            profile.functions[kept] = std::move(profile.functions[old - 1]);
        }
        renumbered[old] = FunctionId{++kept};
    }
    profile.functions.resize(kept);
    for (Node& node : profile.nodes) {
        node.function = renumbered[node.function.value];
    }
    if (profile.memory && !renumbered[profile.memory->value].is_none()) {
        profile.memory = renumbered[profile.memory->value];
    } else {
        profile.memory.reset();
    }
}

}  // namespace

TreeBuilder::Index TreeBuilder::add_category(std::string name) {
    const auto number = static_cast<std::uint32_t>(categories_.size());
    const Index node = child(kRoot, FunctionId{kCategoryKey + number});
    categories_.emplace_back(node, std::move(name));
    return node;
}

TreeBuilder::Index TreeBuilder::child(Index parent, FunctionId function, const CallSite& site) {
    // Stacks that were taken one after the other mostly go on as the one before, and its nodes are
    // in the processor's cache.
    const Index latest = entries_[parent].latest_child;
    const Index node = latest != kRoot && is_child_for(latest, function, site.line)
                           ? latest
                           : find_or_add(parent, function, site);
    entries_[parent].latest_child = node;
    CallSite& known = entries_[node].site;
    if (known.call_line != site.call_line) {
        known.call_line = 0;
    }
    if (known.inlining != site.inlining) {
        known.inlining = Inlining::some;
    }
    return node;
}

TreeBuilder::Index TreeBuilder::find_or_add(Index parent, FunctionId function,
                                            const CallSite& site) {
    int seen = 0;
    Index at = entries_[parent].newest_child;
    for (; at != kRoot && seen < kFew; at = entries_[at].next_sibling, ++seen) {
        if (is_child_for(at, function, site.line)) {
            return at;
        }
    }
    const auto added = static_cast<Index>(entries_.size());
    if (seen == kFew) {
        for (Index few = entries_[parent].newest_child; at == kRoot && few != kRoot;
             few = entries_[few].next_sibling) {
            of_many_.intern({parent, entries_[few].function, entries_[few].site.line, few});
        }
        const std::uint32_t found = of_many_.intern({parent, function, site.line, added});
        if (of_many_[found].node != added) {
            return of_many_[found].node;
        }
    }
    entries_.push_back({parent, function, site, kRoot, kRoot, entries_[parent].newest_child});
    entries_[parent].newest_child = added;
    return added;
}

TreeBuilder::Index TreeBuilder::find(Index parent, FunctionId function, std::uint32_t line) const {
    Index at = entries_[parent].newest_child;
    for (int seen = 0; at != kRoot && seen < kFew; at = entries_[at].next_sibling, ++seen) {
        if (is_child_for(at, function, line)) {
            return at;
        }
    }
    const auto found = at == kRoot ? std::nullopt : of_many_.find({parent, function, line, kRoot});
    return found ? of_many_[*found].node : kRoot;
}

void TreeBuilder::add_self(Index node, std::uint64_t weight, std::uint64_t samples) {
    if (node >= selves_.size()) {
        selves_.resize(entries_.size());
    }
    selves_[node].weight += weight;
    selves_[node].samples += samples;
}

void TreeBuilder::add_further(std::size_t metric, Index node, std::uint64_t weight) {
    if (weight == 0) {
        return;
    }
    further_.resize(std::max(further_.size(), metric + 1));
    std::vector<std::uint64_t>& weights = further_[metric];
    weights.resize(std::max(weights.size(), std::size_t{node} + 1));
    weights[node] += weight;
}

void TreeBuilder::move_self(const Profile& from, NodeId id, Index to) {
    const Node& node = from.node(id);
    add_self(to, node.self, node.self_samples);
    for (std::size_t i = 0; i < from.further.size(); ++i) {
        add_further(i, to, from.further[i].selves[id.value]);
    }
    if (from.timeline || !from.further.empty()) {
        moved_to_.resize(from.nodes.size(), kRoot);
        moved_to_[id.value] = to;
    }
}

/// By index: whether a further metric has weight there or below; empty if none has any.
std::vector<bool> TreeBuilder::have_further() const {
    std::vector<bool> have(further_.empty() ? 0 : entries_.size());
    for (const std::vector<std::uint64_t>& weights : further_) {
        for (std::size_t node = 0; node < weights.size(); ++node) {
            have[node] = have[node] || weights[node] != 0;
        }
    }
    for (std::size_t node = have.size(); node-- > 1;) {
        const Index parent = entries_[node].parent;
        have[parent] = have[parent] || have[node];
    }
    return have;
}

TreeBuilder::Sums TreeBuilder::sum_up() {
    const auto count = static_cast<Index>(entries_.size());
    selves_.resize(count);
    std::vector<std::uint64_t> total(count);
    std::vector<std::uint64_t> samples(count);
    for (Index node = count; node-- > 0;) {
        total[node] += selves_[node].weight;
        samples[node] += selves_[node].samples;
        if (node != kRoot) {
            const Index parent = entries_[node].parent;
            total[parent] += total[node];
            samples[parent] += samples[node];
        }
    }
    const std::vector<bool> have_weight = have_further();
    Groups children{count + std::size_t{1}, count, [&](Index node) {
                        const bool is_kept = total[node] != 0 || samples[node] != 0 ||
                                             (!have_weight.empty() && have_weight[node]);
                        return is_kept && node != kRoot ? entries_[node].parent : count;
                    }};
    for (Index node = 0; node < count; ++node) {
        const std::span<Index> siblings = children[node];
        std::sort(siblings.begin(), siblings.end(), [&](Index left, Index right) {
            return std::tie(total[right], samples[right], left) <
                   std::tie(total[left], samples[left], right);
        });
    }
    return {std::move(total), std::move(samples), std::move(children)};
}

std::vector<NodeId> TreeBuilder::finish(Profile& profile) && {
    const Sums sums = sum_up();
    std::vector<NodeId> became(entries_.size());
    profile.nodes.clear();
    profile.nodes.reserve(entries_.size() - sums.children[entries_.size()].size() + 1);
    profile.categories.clear();
    std::vector<std::pair<Index, NodeId>> pending{{kRoot, NodeId{}}};
    while (!pending.empty()) {
        const auto [index, parent] = pending.back();
        pending.pop_back();
        const NodeId id{static_cast<std::uint32_t>(profile.nodes.size())};
        became[index] = id;
        const Entry& entry = entries_[index];
        const std::span<const Index> children = sums.children[index];
        Node& node = profile.nodes.emplace_back();
        node.parent = parent;
        node.line = entry.site.line;
        node.call_line = entry.site.call_line;
        node.inlining = entry.site.inlining;
        node.total = sums.total[index];
        node.samples = sums.samples[index];
        node.self = selves_[index].weight;
        node.self_samples = selves_[index].samples;
        if ((entry.function.value & kCategoryKey) != 0) {
            auto& name = categories_[entry.function.value - kCategoryKey].second;
            profile.categories.push_back({std::move(name), id});
        } else {
            node.function = entry.function;
        }
        for (std::size_t i = children.size(); i-- > 0;) {
            pending.emplace_back(children[i], id);
        }
    }
    link_children(profile.nodes);
    drop_unused_functions(profile);
    recompute_functions(profile);
    const auto move_samples = [&](std::optional<Timeline>& timeline) {
        if (!timeline) {
            return;
        }
        for (NodeId& place : timeline->nodes) {
            place = place.value < moved_to_.size() ? became[moved_to_[place.value]] : NodeId{};
        }
    };
    move_samples(profile.timeline);
    further_.resize(profile.further.size());
    for (std::size_t i = 0; i < further_.size(); ++i) {
        FurtherMetric& metric = profile.further[i];
        metric.selves.assign(profile.nodes.size(), 0);
        for (Index index = 0; index < further_[i].size(); ++index) {
            metric.selves[became[index].value] += further_[i][index];
        }
        move_samples(metric.timeline);
    }
    return became;
}

void link_children(std::vector<Node>& nodes) {
    for (Node& node : nodes) {
        node.first_child = NodeId{};
    }
    for (auto id = static_cast<std::uint32_t>(nodes.size()); id-- > 1;) {
        NodeId& first = nodes[nodes[id].parent.value].first_child;
        nodes[id].next_sibling = std::exchange(first, NodeId{id});
    }
}

void set_children(std::vector<Node>& nodes, NodeId parent, std::span<const NodeId> children) {
    NodeId next;
    for (std::size_t i = children.size(); i-- > 0;) {
        Node& child = nodes[children[i].value];
        child.parent = parent;
        child.next_sibling = std::exchange(next, children[i]);
    }
    nodes[parent.value].first_child = next;
}

std::vector<NodeId> preorder(const Profile& profile) {
    std::vector<NodeId> order;
    if (profile.nodes.empty()) {
        return order;
    }
    order.reserve(profile.nodes.size());
    std::vector<NodeId> pending{NodeId{}};
    while (!pending.empty()) {
        const NodeId id = pending.back();
        pending.pop_back();
        order.push_back(id);
        const Node& node = profile.node(id);
        for (const NodeId next : {node.next_sibling, node.first_child}) {
            if (!next.is_none()) {
                pending.push_back(next);
            }
        }
    }
    return order;
}

std::vector<const std::string*> category_names(const Profile& profile) {
    std::vector<const std::string*> names(profile.nodes.size());
    for (const Category& category : profile.categories) {
        names[category.node.value] = &category.name;
    }
    return names;
}

std::vector<bool> outermost_nodes(const Profile& profile) {
    std::vector<bool> is_outermost(profile.nodes.size());
    std::vector<std::uint32_t> on_stack(profile.functions.size() + 1);
    std::vector<NodeId> path;
    for (const NodeId id : preorder(profile)) {
        while (!path.empty() && path.back() != profile.node(id).parent) {
            --on_stack[profile.node(path.back()).function.value];
            path.pop_back();
        }
        path.push_back(id);
        is_outermost[id.value] = on_stack[profile.node(id).function.value]++ == 0;
    }
    return is_outermost;
}

void recompute_functions(Profile& profile) {
    for (Function& function : profile.functions) {
        function.total = function.self = function.samples = function.self_samples = 0;
    }
    const std::vector<bool> is_outermost = outermost_nodes(profile);
    for (std::size_t i = 0; i < profile.nodes.size(); ++i) {
        const Node& node = profile.nodes[i];
        if (node.function.is_none()) {
            continue;
        }
        Function& function = profile.functions[node.function.value - 1];
        function.self += node.self;
        function.self_samples += node.self_samples;
        if (is_outermost[i]) {
            function.total += node.total;
            function.samples += node.samples;
        }
    }
}

}  // namespace sample::callgraph

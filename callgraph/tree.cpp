#include "callgraph/tree.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace sample::callgraph {

struct TreeBuilder::Sums {
    std::vector<std::uint64_t> total_ns;
    std::vector<std::uint64_t> samples;
    std::vector<Index> first_child;  ///< children[first_child[i] … first_child[i + 1])
    std::vector<Index> children;

    [[nodiscard]] std::span<const Index> children_of(Index node) const {
        return std::span{children}.subspan(first_child[node],
                                           first_child[node + 1] - first_child[node]);
    }
};

namespace {

/// Categories' nodes share their function (none) and parent; this keeps their keys apart. The
/// category's number takes the function's place until finish().
constexpr std::uint32_t kCategoryKey = 0x80000000;

/// Leaves out the functions that no node names, and renumbers the nodes' and the GC's.
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
    if (profile.gc && !renumbered[profile.gc->value].is_none()) {
        profile.gc = renumbered[profile.gc->value];
    } else {
        profile.gc.reset();
    }
}

}  // namespace

CallSite call_site(const Node& node) {
    return {node.line, node.call_line, node.inlining};
}

TreeBuilder::TreeBuilder() {
    entries_.intern(Entry{kRoot, FunctionId{}, {}});
}

TreeBuilder::Index TreeBuilder::add_category(std::string name) {
    const auto number = static_cast<std::uint32_t>(categories_.size());
    const Index node = entries_.intern(Entry{kRoot, FunctionId{kCategoryKey + number}, {}});
    categories_.emplace_back(node, std::move(name));
    return node;
}

TreeBuilder::Index TreeBuilder::child(Index parent, FunctionId function, const CallSite& site) {
    const Index node = entries_.intern(Entry{parent, function, site});
    CallSite& known = entries_[node].site;
    if (known.call_line != site.call_line) {
        known.call_line = 0;
    }
    if (known.inlining != site.inlining) {
        known.inlining = Inlining::some;
    }
    return node;
}

void TreeBuilder::add_self(Index node, std::uint64_t ns, std::uint64_t samples) {
    entries_[node].self_ns += ns;
    entries_[node].self_samples += samples;
}

void TreeBuilder::move_self(const Profile& from, NodeId id, Index to) {
    const Node& node = from.node(id);
    add_self(to, node.self_ns, node.self_samples);
    if (from.timeline) {
        moved_to_.resize(from.nodes.size(), kRoot);
        moved_to_[id.value] = to;
    }
}

TreeBuilder::Sums TreeBuilder::sum_up() const {
    const auto count = static_cast<Index>(entries_.size());
    Sums sums;
    sums.total_ns.resize(count);
    sums.samples.resize(count);
    sums.first_child.resize(count + 1);
    for (Index node = count; node-- > 0;) {
        const Entry& entry = entries_[node];
        sums.total_ns[node] += entry.self_ns;
        sums.samples[node] += entry.self_samples;
        if (node != kRoot) {
            sums.total_ns[entry.parent] += sums.total_ns[node];
            sums.samples[entry.parent] += sums.samples[node];
        }
    }
    const auto is_kept = [&](Index node) {
        return node != kRoot && (sums.total_ns[node] != 0 || sums.samples[node] != 0);
    };
    for (Index node = 0; node < count; ++node) {
        sums.first_child[entries_[node].parent + 1] += is_kept(node) ? 1U : 0U;
    }
    for (Index node = 0; node < count; ++node) {
        sums.first_child[node + 1] += sums.first_child[node];
    }
    sums.children.resize(sums.first_child[count]);
    std::vector<Index> next(sums.first_child.begin(), sums.first_child.end() - 1);
    for (Index node = 0; node < count; ++node) {
        if (is_kept(node)) {
            sums.children[next[entries_[node].parent]++] = node;
        }
    }
    for (Index node = 0; node < count; ++node) {
        const auto from = sums.children.begin() + sums.first_child[node];
        const auto to = sums.children.begin() + sums.first_child[node + 1];
        std::sort(from, to, [&](Index left, Index right) {
            return std::tie(sums.total_ns[right], sums.samples[right], left) <
                   std::tie(sums.total_ns[left], sums.samples[left], right);
        });
    }
    return sums;
}

std::vector<NodeId> TreeBuilder::finish(Profile& profile) && {
    const Sums sums = sum_up();
    std::vector<NodeId> became(entries_.size());
    profile.nodes.clear();
    profile.nodes.reserve(sums.children.size() + 1);
    profile.categories.clear();
    std::vector<std::pair<Index, NodeId>> pending{{kRoot, NodeId{}}};
    while (!pending.empty()) {
        const auto [index, parent] = pending.back();
        pending.pop_back();
        const NodeId id{static_cast<std::uint32_t>(profile.nodes.size())};
        became[index] = id;
        const Entry& entry = entries_[index];
        const auto children = sums.children_of(index);
        Node& node = profile.nodes.emplace_back();
        node.parent = parent;
        node.line = entry.site.line;
        node.call_line = entry.site.call_line;
        node.inlining = entry.site.inlining;
        node.total_ns = sums.total_ns[index];
        node.samples = sums.samples[index];
        node.self_ns = entry.self_ns;
        node.self_samples = entry.self_samples;
        node.children.reserve(children.size());
        if (index != kRoot) {
            profile.nodes[parent.value].children.push_back(id);
        }
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
    drop_unused_functions(profile);
    recompute_functions(profile);
    if (profile.timeline) {
        for (NodeId& place : profile.timeline->nodes) {
            place = place.value < moved_to_.size() ? became[moved_to_[place.value]] : NodeId{};
        }
    }
    return became;
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
        const auto& children = profile.node(id).children;
        pending.insert(pending.end(), children.rbegin(), children.rend());
    }
    return order;
}

void recompute_functions(Profile& profile) {
    for (Function& function : profile.functions) {
        function.total_ns = function.self_ns = function.samples = function.self_samples = 0;
    }
    std::vector<std::uint32_t> on_stack(profile.functions.size() + 1);
    std::vector<NodeId> path;
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        while (!path.empty() && path.back() != node.parent) {
            --on_stack[profile.node(path.back()).function.value];
            path.pop_back();
        }
        path.push_back(id);
        const bool is_outermost = on_stack[node.function.value]++ == 0;
        if (node.function.is_none()) {
            continue;
        }
        Function& function = profile.functions[node.function.value - 1];
        function.self_ns += node.self_ns;
        function.self_samples += node.self_samples;
        if (is_outermost) {
            function.total_ns += node.total_ns;
            function.samples += node.samples;
        }
    }
}

}  // namespace sample::callgraph

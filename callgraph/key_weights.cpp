#include "callgraph/key_weights.h"

#include <algorithm>

namespace sample::callgraph {

namespace {

struct NodeWeight {
    std::uint64_t ns = 0;
    std::uint64_t samples = 0;
};

/// What was spent at each node itself, by id.
std::vector<NodeWeight> own_weights(const Recording& recording) {
    std::vector<NodeWeight> own(recording.nodes().size() + 1);
    for (const StackWeight& weight : recording.weights()) {
        NodeWeight& node = own[weight.node.value];
        node.ns += weight.sampled + weight.booked;
        node.samples += weight.samples;
    }
    return own;
}

/// The same with all nodes below. A parent's id is less than its child's.
std::vector<NodeWeight> with_callees(const Recording& recording, std::vector<NodeWeight> weights) {
    for (std::size_t id = recording.nodes().size(); id > 0; --id) {
        NodeWeight& parent = weights[recording.nodes()[id - 1].parent.value];
        parent.ns += weights[id].ns;
        parent.samples += weights[id].samples;
    }
    return weights;
}

/// The children of every node: those of `id` are order[first[id] … first[id + 1]).
struct Children {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> order;
};

Children children_of(std::span<const StackFrame> nodes) {
    Children children;
    children.first.resize(nodes.size() + 2);
    for (const StackFrame& node : nodes) {
        ++children.first[node.parent.value + 1];
    }
    for (std::size_t i = 1; i < children.first.size(); ++i) {
        children.first[i] += children.first[i - 1];
    }
    std::vector<std::uint32_t> next = children.first;
    children.order.resize(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        children.order[next[nodes[i].parent.value]++] = i + 1;
    }
    return children;
}

/// Calls enter(id) for every node before its descendants and leave(id) after them.
template <class Enter, class Leave>
void walk(std::span<const StackFrame> nodes, Enter enter, Leave leave) {
    const Children children = children_of(nodes);
    struct Step {
        std::uint32_t id;
        std::uint32_t next;  ///< Index into children.order.
    };
    std::vector<Step> path{{0, children.first[0]}};
    while (!path.empty()) {
        Step& step = path.back();
        if (step.next < children.first[step.id + 1]) {
            const std::uint32_t child = children.order[step.next++];
            enter(child);
            path.push_back({child, children.first[child]});
            continue;
        }
        if (step.id != 0) {
            leave(step.id);
        }
        path.pop_back();
    }
}

}  // namespace

void AddressKeys::add(std::uint32_t address, std::uint32_t key, bool is_own) {
    std::vector<Entry>& entries = of_[address];
    const auto known = std::find_if(entries.begin(), entries.end(),
                                    [key](const Entry& entry) { return entry.key == key; });
    if (known == entries.end()) {
        entries.push_back({key, is_own});
    } else {
        known->is_own = known->is_own || is_own;
    }
}

std::vector<KeyWeight> weights_by_key(const Recording& recording, const AddressKeys& keys) {
    const std::span<const StackFrame> nodes = recording.nodes();
    const std::vector<NodeWeight> own = own_weights(recording);
    const std::vector<NodeWeight> total = with_callees(recording, own);
    std::vector<KeyWeight> result(keys.keys_);
    std::vector<std::uint32_t> on_path(keys.keys_);
    const auto enter = [&](std::uint32_t id) {
        for (const AddressKeys::Entry& entry : keys.of_[nodes[id - 1].address]) {
            KeyWeight& weight = result[entry.key];
            if (entry.is_own) {
                weight.self_ns += own[id].ns;
                weight.self_samples += own[id].samples;
            }
            if (on_path[entry.key]++ == 0) {
                weight.total_ns += total[id].ns;
                weight.samples += total[id].samples;
            }
        }
    };
    const auto leave = [&](std::uint32_t id) {
        for (const AddressKeys::Entry& entry : keys.of_[nodes[id - 1].address]) {
            --on_path[entry.key];
        }
    };
    walk(nodes, enter, leave);
    return result;
}

}  // namespace sample::callgraph

#include "callgraph/key_weights.h"

#include "callgraph/groups.h"

#include <algorithm>

namespace sample::callgraph {

namespace {

struct NodeWeight {
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;
};

/// What was spent at and below each node, by id. A parent's id is less than its child's.
std::vector<NodeWeight> totals(const Recording& recording) {
    std::vector<NodeWeight> total(recording.nodes().size() + 1);
    for (const StackWeight& weight : recording.weights()) {
        NodeWeight& node = total[weight.node.value];
        node.weight += weight.sampled + weight.booked;
        node.samples += weight.samples;
    }
    for (std::size_t id = recording.nodes().size(); id > 0; --id) {
        NodeWeight& parent = total[recording.nodes()[id - 1].parent.value];
        parent.weight += total[id].weight;
        parent.samples += total[id].samples;
    }
    return total;
}

/// Calls enter(id) for every node before its descendants and leave(id) after them.
template <class Enter, class Leave>
void walk(std::span<const StackFrame> nodes, Enter enter, Leave leave) {
    const Groups children{nodes.size() + 1, nodes.size(),
                          [nodes](std::size_t i) { return nodes[i].parent.value; }};
    struct Step {
        std::uint32_t id;
        std::span<const std::uint32_t> left;  ///< Children to enter: their ids, less 1.
    };
    std::vector<Step> path{{0, children[0]}};
    while (!path.empty()) {
        Step& step = path.back();
        if (!step.left.empty()) {
            const std::uint32_t child = step.left.front() + 1;
            step.left = step.left.subspan(1);
            enter(child);
            path.push_back({child, children[child]});
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
    keys_ = std::max(keys_, key + 1);
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
    std::vector<KeyWeight> result(keys.keys_);
    for (const StackWeight& weight : recording.weights()) {
        if (weight.node.is_none()) {
            continue;
        }
        for (const AddressKeys::Entry& entry : keys.of_[nodes[weight.node.value - 1].address]) {
            if (entry.is_own) {
                result[entry.key].self += weight.sampled + weight.booked;
                result[entry.key].self_samples += weight.samples;
            }
        }
    }
    const std::vector<NodeWeight> total = totals(recording);
    std::vector<std::uint32_t> on_path(keys.keys_);
    const auto enter = [&](std::uint32_t id) {
        for (const AddressKeys::Entry& entry : keys.of_[nodes[id - 1].address]) {
            if (on_path[entry.key]++ == 0) {
                result[entry.key].total += total[id].weight;
                result[entry.key].samples += total[id].samples;
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

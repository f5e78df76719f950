#include "callgraph/key_weights.h"

#include <algorithm>
#include <span>
#include <utility>

namespace sample::callgraph {

namespace {

/// A node, and what was spent at and below it. Ids as the recording's, 0 for none and for the root.
struct TreeNode {
    std::uint32_t parent = 0;
    std::uint32_t first_child = 0;
    std::uint32_t next_sibling = 0;
    std::uint32_t address = 0;
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;
};

/// By id.
std::vector<TreeNode> tree_of(const Recording& recording) {
    const std::span<const StackFrame> nodes = recording.nodes();
    std::vector<TreeNode> tree(nodes.size() + 1);
    for (const StackWeight& weight : recording.weights()) {
        TreeNode& node = tree[weight.node.value];
        node.weight += weight.sampled + weight.booked;
        node.samples += weight.samples;
    }
    // A parent's id is less than its child's.
    for (auto id = static_cast<std::uint32_t>(nodes.size()); id > 0; --id) {
        TreeNode& node = tree[id];
        node.address = nodes[id - 1].address;
        node.parent = nodes[id - 1].parent.value;
        TreeNode& parent = tree[node.parent];
        parent.weight += node.weight;
        parent.samples += node.samples;
        node.next_sibling = std::exchange(parent.first_child, id);
    }
    return tree;
}

/// Calls enter(node) for every node before its descendants and leave(node) after them.
template <class Enter, class Leave>
void walk(std::span<const TreeNode> tree, Enter enter, Leave leave) {
    std::uint32_t at = tree[0].first_child;
    while (at != 0) {
        enter(tree[at]);
        std::uint32_t next = tree[at].first_child;
        while (next == 0 && at != 0) {
            leave(tree[at]);
            next = tree[at].next_sibling;
            at = tree[at].parent;
        }
        at = next;
    }
}

}  // namespace

void AddressKeys::add(std::uint32_t address, std::uint32_t key, bool is_own) {
    keys_ = std::max(keys_, key + 1);
    for (std::uint32_t at = first_[address]; at != kNone; at = entries_[at].next) {
        if (entries_[at].key == key) {
            entries_[at].is_own = entries_[at].is_own || is_own;
            return;
        }
    }
    entries_.push_back({key, first_[address], is_own});
    first_[address] = static_cast<std::uint32_t>(entries_.size() - 1);
}

std::vector<KeyWeight> weights_by_key(const Recording& recording, const AddressKeys& keys) {
    const std::span<const StackFrame> nodes = recording.nodes();
    std::vector<KeyWeight> result(keys.keys_);
    for (const StackWeight& weight : recording.weights()) {
        if (weight.node.is_none()) {
            continue;
        }
        keys.each_of(nodes[weight.node.value - 1].address, [&](const AddressKeys::Entry& entry) {
            if (entry.is_own) {
                result[entry.key].self += weight.sampled + weight.booked;
                result[entry.key].self_samples += weight.samples;
            }
        });
    }
    std::vector<std::uint32_t> on_path(keys.keys_);
    const auto enter = [&](const TreeNode& node) {
        keys.each_of(node.address, [&](const AddressKeys::Entry& entry) {
            if (on_path[entry.key]++ == 0) {
                result[entry.key].total += node.weight;
                result[entry.key].samples += node.samples;
            }
        });
    };
    const auto leave = [&](const TreeNode& node) {
        keys.each_of(node.address, [&](const AddressKeys::Entry& entry) { --on_path[entry.key]; });
    };
    walk(tree_of(recording), enter, leave);
    return result;
}

}  // namespace sample::callgraph

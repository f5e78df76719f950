#include "export/shared/stack_changes.h"

#include <algorithm>

namespace sample::exports {

bool has_stackless(const callgraph::Profile& profile) {
    const std::vector<MetricView> views = views_of(profile);
    std::uint32_t id = 0;
    return std::any_of(
        profile.nodes.begin(), profile.nodes.end(), [&](const callgraph::Node& node) {
            const NodeId at{id++};
            return node.function.is_none() &&
                   std::any_of(views.begin(), views.end(),
                               [at](const MetricView& view) { return view.self(at) != 0; });
        });
}

StackChanges::StackChanges(const callgraph::Profile& profile)
    : profile_{profile}, open_at_(profile.nodes.size()) {}

void StackChanges::move_to(NodeId node) {
    opened_.clear();
    closed_.clear();
    NodeId at = node;
    while (is_frame(at, node) && open_at_[at.value] == 0) {
        opened_.push_back(at);
        at = profile_.node(at).parent;
    }
    // A frame that is open already, or a category above the stack.
    close_down_to(is_frame(at, node) ? open_at_[at.value] : 0);
    std::reverse(opened_.begin(), opened_.end());
    for (const NodeId opened : opened_) {
        open_.push_back(opened);
        open_at_[opened.value] = static_cast<std::uint32_t>(open_.size());
    }
}

void StackChanges::close_all() {
    opened_.clear();
    closed_.clear();
    close_down_to(0);
}

/// Whether `node`, on the path from `leaf` to the root, is a frame.
bool StackChanges::is_frame(NodeId node, NodeId leaf) const {
    return !profile_.node(node).function.is_none() || (node == leaf && opened_.empty());
}

void StackChanges::close_down_to(std::size_t frames) {
    while (open_.size() > frames) {
        closed_.push_back(open_.back());
        open_at_[open_.back().value] = 0;
        open_.pop_back();
    }
}

}  // namespace sample::exports

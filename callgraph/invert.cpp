// The callgraph upside down: a function's callers below it.
//
// A stack of the profile appears once for every place that something can stand at its bottom, so
// the inverted tree of deep stacks is far larger than the profile. It is therefore grown from the
// root, and only where a node weighs enough: a node keeps the frames of the profile that it stands
// for, and its children are their parents, sorted out by function.
#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "core/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sample::callgraph {
namespace {

/// A node of the profile, and what of the function under the root came through it.
struct Frame {
    NodeId at;
    std::uint64_t total = 0;
    std::uint64_t samples = 0;
    std::uint64_t self = 0;
    std::uint64_t self_samples = 0;
};

std::vector<Frame> leaves(const Profile& profile) {
    std::vector<Frame> frames;
    for (std::uint32_t id = 1; id < profile.nodes.size(); ++id) {
        const Node& node = profile.nodes[id];
        if (node.self != 0 || node.self_samples != 0) {
            frames.push_back(
                {NodeId{id}, node.self, node.self_samples, node.self, node.self_samples});
        }
    }
    return frames;
}

std::vector<Frame> outermost(const Profile& profile, const std::vector<FunctionId>& focused) {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<bool> is_focused(profile.functions.size() + 1);
    for (const FunctionId id : focused) {
        is_focused[id.value] = true;
    }
    std::vector<Frame> frames;
    std::vector<std::size_t> frame_of(profile.nodes.size(), kNone);
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        std::size_t& frame = frame_of[id.value] = frame_of[node.parent.value];
        if (frame == kNone && is_focused[node.function.value]) {
            frame = frames.size();
            frames.push_back({id, node.total, node.samples});
        }
        if (frame != kNone && profile.node(frames[frame].at).function == node.function) {
            frames[frame].self += node.self;
            frames[frame].self_samples += node.self_samples;
        }
    }
    return frames;
}

class InvertedTree {
public:
    explicit InvertedTree(const Profile& profile)
        : profile_{profile},
          category_of_{category_names(profile)},
          caller_of_(profile.nodes.size(), kNone) {}

    void grow(const std::vector<Frame>& frames, double least_percent, std::size_t most_nodes) {
        constexpr double kAll = 100.0;
        Node& root = nodes_.emplace_back();
        for (const Frame& frame : frames) {
            root.total += frame.total;
            root.samples += frame.samples;
        }
        const auto least =
            static_cast<std::uint64_t>(static_cast<double>(root.total) * least_percent / kAll);
        add_children(NodeId{}, frames);
        while (!pending_.empty()) {
            const auto [id, stands_for] = std::move(pending_.back());
            pending_.pop_back();
            if (nodes_[id.value].total < least) {
                continue;
            }
            if (nodes_.size() < most_nodes) {
                add_children(id, callers(stands_for));
            } else {
                ++cut_;
            }
        }
    }

    /// How many nodes lack their callers for want of room.
    [[nodiscard]] std::size_t cut() const { return cut_; }

    void finish(Profile& profile) && {
        profile.nodes = std::move(nodes_);
        profile.categories = std::move(categories_);
    }

private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    struct Pending {
        NodeId id;
        std::vector<Frame> stands_for;
    };

    /// Each once, however many of `frames` it calls.
    std::vector<Frame> callers(const std::vector<Frame>& frames) {
        std::vector<Frame> callers;
        for (const Frame& frame : frames) {
            const NodeId parent = profile_.node(frame.at).parent;
            if (parent.value == 0) {
                continue;
            }
            std::size_t& caller = caller_of_[parent.value];
            if (caller == kNone) {
                caller = callers.size();
                callers.push_back({parent});
            }
            callers[caller].total += frame.total;
            callers[caller].samples += frame.samples;
        }
        for (const Frame& caller : callers) {
            caller_of_[caller.at.value] = kNone;
        }
        return callers;
    }

    void add_children(NodeId parent, const std::vector<Frame>& frames) {
        using Key = std::tuple<FunctionId, std::uint32_t, const std::string*>;
        std::map<Key, std::size_t> known;
        const std::size_t first = pending_.size();
        for (const Frame& frame : frames) {
            const Node& from = profile_.node(frame.at);
            const Key key{from.function, from.line, category_of_[frame.at.value]};
            const auto [found, is_new] = known.try_emplace(key, pending_.size());
            if (is_new) {
                pending_.push_back({add(parent, frame.at), {}});
            }
            Pending& child = pending_[found->second];
            child.stands_for.push_back(frame);
            add_to(nodes_[child.id.value], frame, from);
        }
        std::vector<NodeId> children;
        for (std::size_t i = first; i < pending_.size(); ++i) {
            children.push_back(pending_[i].id);
        }
        std::stable_sort(children.begin(), children.end(), [this](NodeId left, NodeId right) {
            return nodes_[left.value].total > nodes_[right.value].total;
        });
        set_children(nodes_, parent, children);
    }

    /// A new node, of no weight yet.
    NodeId add(NodeId parent, NodeId like) {
        const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
        const Node& from = profile_.node(like);
        Node& node = nodes_.emplace_back();
        node.parent = parent;
        node.function = from.function;
        node.line = from.line;
        node.call_line = from.call_line;
        node.inlining = from.inlining;
        if (const std::string* category = category_of_[like.value]; category != nullptr) {
            categories_.push_back({*category, id});
        }
        return id;
    }

    static void add_to(Node& node, const Frame& frame, const Node& from) {
        node.total += frame.total;
        node.samples += frame.samples;
        node.self += frame.self;
        node.self_samples += frame.self_samples;
        node.call_line = node.call_line == from.call_line ? node.call_line : 0;
        node.inlining = node.inlining == from.inlining ? node.inlining : Inlining::some;
    }

    const Profile& profile_;
    std::vector<const std::string*> category_of_;
    std::vector<std::size_t> caller_of_;  ///< By node, where callers() has it; kNone outside.
    std::vector<Node> nodes_;
    std::vector<Category> categories_;
    std::vector<Pending> pending_;
    std::size_t cut_ = 0;
};

}  // namespace

Profile invert(Profile profile, const std::vector<FunctionId>& focused, double least_percent,
               std::size_t most_nodes) {
    InvertedTree tree{profile};
    tree.grow(focused.empty() ? leaves(profile) : outermost(profile, focused), least_percent,
              most_nodes);
    if (tree.cut() != 0) {
        profile.stats.notes.push_back("callers of " + counted(tree.cut(), "node") +
                                      " left out: there would be more than " + grouped(most_nodes) +
                                      " nodes; --focus and a greater --min choose fewer");
    }
    std::move(tree).finish(profile);
    profile.further.clear();
    profile.timeline.reset();
    return profile;
}

}  // namespace sample::callgraph

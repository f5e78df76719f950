#include "callgraph/transforms.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/units.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace sample::callgraph {

namespace {

using Index = TreeBuilder::Index;

/// A tree like `profile`'s, grown node by node in preorder.
class Copy {
public:
    explicit Copy(Profile& profile)
        : profile_{profile},
          categories_{category_names(profile)},
          index_of_(profile.nodes.size(), kNone) {
        if (!index_of_.empty()) {
            index_of_[0] = TreeBuilder::kRoot;
        }
    }

    /// Copies a node without its time, unless its parent was not copied. True if it was.
    bool add(NodeId id) { return add_beside(id, id); }
    /// The same, called by what calls `other`, and where.
    bool add_beside(NodeId id, NodeId other) {
        const Node& node = profile_.node(id);
        const Index parent = index_of_[profile_.node(other).parent.value];
        if (id == NodeId{} || parent == kNone) {
            return id == NodeId{};
        }
        const std::string* category = categories_[id.value];
        index_of_[id.value] = category != nullptr
                                  ? tree_.add_category(*category)
                                  : tree_.child(parent, node.function,
                                                {node.line, call_line_of(other), node.inlining});
        return true;
    }
    /// Puts a node in its parent's place: its children become the parent's, called where it was.
    void fold(NodeId id) {
        index_of_[id.value] = index_of_[profile_.node(id).parent.value];
        folded_[id.value] = call_line_of(id);
    }
    /// Puts a node in the place of one above it.
    void fold_into(NodeId id, NodeId above) { index_of_[id.value] = index_of_[above.value]; }
    void move_self(NodeId id) { tree_.move_self(profile_, id, index_of_[id.value]); }
    void finish() && { std::move(tree_).finish(profile_); }

private:
    static constexpr Index kNone = 0xffffffff;

    [[nodiscard]] std::uint32_t call_line_of(NodeId id) const {
        const Node& node = profile_.node(id);
        const auto folded = folded_.find(node.parent.value);
        return folded != folded_.end() ? folded->second : node.call_line;
    }

    Profile& profile_;
    std::vector<const std::string*> categories_;
    std::vector<Index> index_of_;
    std::unordered_map<std::uint32_t, std::uint32_t> folded_;  ///< Folded nodes' call lines.
    TreeBuilder tree_;
};

/// The path to the node that a walk in preorder is at, with each function on it once: a call of one
/// that is on it leads back to there, and what was called in between is on it no more.
class FoldedPath {
public:
    explicit FoldedPath(const Profile& profile)
        : profile_{profile},
          latest_of_(profile.functions.size() + 1),
          depth_of_(profile.nodes.size()) {}

    /// Goes to the next node. Returns the node on the path that has its function; itself if it is
    /// new there.
    NodeId enter(NodeId id) {
        const Node& node = profile_.node(id);
        while (!steps_.empty() && steps_.back().id != node.parent) {
            leave();
        }
        const std::size_t depth = steps_.empty() ? 0 : steps_.back().depth + 1;
        const NodeId same = latest_of_[node.function.value];
        const std::size_t its_depth = depth_of_[same.value];
        if (!node.function.is_none() && !same.is_none() && its_depth < depth &&
            path_[its_depth] == same) {
            steps_.push_back({id, its_depth, false, {}, {}});
            return same;
        }
        path_.resize(std::max(path_.size(), depth + 1));
        steps_.push_back({id, depth, true, std::exchange(path_[depth], id),
                          std::exchange(latest_of_[node.function.value], id)});
        depth_of_[id.value] = depth;
        return id;
    }

private:
    struct Step {
        NodeId id;
        std::size_t depth = 0;
        bool is_new = false;
        NodeId replaced;  ///< What stood at `depth` before.
        NodeId latest;    ///< What the function's was before.
    };

    void leave() {
        const Step& step = steps_.back();
        if (step.is_new) {
            path_[step.depth] = step.replaced;
            latest_of_[profile_.node(step.id).function.value] = step.latest;
        }
        steps_.pop_back();
    }

    const Profile& profile_;
    std::vector<Step> steps_;            ///< From the root, as the profile has them.
    std::vector<NodeId> path_;           ///< By depth; good up to that of the latest step.
    std::vector<NodeId> latest_of_;      ///< By function: good if it is on the path; none: no node.
    std::vector<std::size_t> depth_of_;  ///< By node.
};

/// Leaves out the subtrees of the nodes whose function `is_hidden`.
Profile without(Profile profile, const std::function<bool(FunctionId)>& is_hidden) {
    Copy copy{profile};
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        const bool hide = !node.function.is_none() && is_hidden(node.function);
        if (!hide && copy.add(id)) {
            copy.move_self(id);
        }
    }
    std::move(copy).finish();
    return profile;
}

std::optional<double> session_seconds(const Profile& profile) {
    constexpr double kMsPerSecond = 1e3;
    if (profile.stats.wall_ns != 0) {
        return static_cast<double>(profile.stats.wall_ns) / kNsPerSecond;
    }
    if (profile.end_unix_ms > profile.start_unix_ms) {
        return static_cast<double>(profile.end_unix_ms - profile.start_unix_ms) / kMsPerSecond;
    }
    return std::nullopt;
}

std::uint64_t scaled(std::uint64_t weight, long double factor) {
    return static_cast<std::uint64_t>(static_cast<long double>(weight) * factor);
}

/// Scales what `self_of(id)` refers to, for each of `nodes`. Rounding the running sum, not each
/// node, keeps every total within one of its own.
template <class SelfOf>
void scale_selves(const std::vector<NodeId>& nodes, long double factor, const SelfOf& self_of) {
    std::uint64_t before = 0;
    for (const NodeId id : nodes) {
        std::uint64_t& self = self_of(id);
        const std::uint64_t after = before + self;
        self = scaled(after, factor) - scaled(before, factor);
        before = after;
    }
}

bool label_contains(const Function& function, std::string_view text) {
    return label(function).find(text) != std::string::npos;
}

/// By a FunctionId's value; [0] is false.
std::vector<bool> matching(const std::vector<Function>& functions,
                           const std::function<bool(const Function&)>& matches) {
    std::vector<bool> result(functions.size() + 1);
    for (std::size_t i = 0; i < functions.size(); ++i) {
        result[i + 1] = matches(functions[i]);
    }
    return result;
}

std::vector<FunctionId> ids_of(const std::vector<bool>& functions) {
    std::vector<FunctionId> ids;
    for (std::uint32_t id = 1; id < functions.size(); ++id) {
        if (functions[id]) {
            ids.push_back(FunctionId{id});
        }
    }
    return ids;
}

}  // namespace

std::vector<FunctionId> find_named(const std::vector<Function>& functions, std::string_view name) {
    auto ids =
        ids_of(matching(functions, [&](const Function& each) { return is_named(each, name); }));
    return !ids.empty() ? ids : ids_of(matching(functions, [&](const Function& each) {
        return label_contains(each, name);
    }));
}

std::vector<FunctionId> find_focused(const Profile& profile, std::string_view name) {
    auto ids = ids_of(matching(profile.functions, [&](const Function& each) {
        return name.starts_with('[') && profile.module_of(each).name == name;
    }));
    return !ids.empty() ? ids : find_named(profile.functions, name);
}

Profile hide_memory(Profile profile) {
    if (!profile.memory) {
        return profile;
    }
    const FunctionId memory = *profile.memory;
    return without(std::move(profile),
                   [memory](FunctionId function) { return function == memory; });
}

Profile hide_plugins(Profile profile) {
    const auto is_plugin = matching(profile.functions, [](const Function& function) {
        return (function.flags & kPlugin) != 0;
    });
    return without(std::move(profile),
                   [&is_plugin](FunctionId function) { return is_plugin[function.value]; });
}

Profile fold_inlined(Profile profile) {
    Copy copy{profile};
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        if (node.inlining == Inlining::all) {
            copy.fold(id);
        } else {
            copy.add(id);
        }
        copy.move_self(id);
    }
    std::move(copy).finish();
    return profile;
}

Profile fold_recursion(Profile profile) {
    Copy copy{profile};
    FoldedPath path{profile};
    for (const NodeId id : preorder(profile)) {
        if (const NodeId same = path.enter(id); same != id) {
            copy.fold_into(id, same);
        } else {
            copy.add(id);
        }
        copy.move_self(id);
    }
    std::move(copy).finish();
    return profile;
}

Profile average(Profile profile, double seconds) {
    constexpr long double kLimit = 0x1p63L;
    const std::optional<double> length = session_seconds(profile);
    if (!length || !(seconds > 0) || profile.nodes.empty()) {
        return profile;
    }
    const double scale = seconds / *length;
    const long double factor =
        static_cast<long double>(scale) / static_cast<long double>(profile.scale);
    const auto fits = [factor](std::uint64_t total) {
        return static_cast<long double>(total) * factor < kLimit;
    };
    if (!fits(profile.nodes[0].total) ||
        !std::all_of(profile.further.begin(), profile.further.end(),
                     [&](const FurtherMetric& each) { return fits(each.total()); })) {
        return profile;
    }
    const std::vector<NodeId> nodes = preorder(profile);
    profile.timeline.reset();  // These are durations that nobody measured.
    scale_selves(nodes, factor,
                 [&](NodeId id) -> std::uint64_t& { return profile.nodes[id.value].self; });
    for (FurtherMetric& each : profile.further) {
        each.timeline.reset();
        scale_selves(nodes, factor,
                     [&](NodeId id) -> std::uint64_t& { return each.selves[id.value]; });
    }
    Copy copy{profile};
    for (const NodeId id : nodes) {
        copy.add(id);
        copy.move_self(id);
    }
    std::move(copy).finish();
    for (ThreadTotals& thread : profile.threads) {
        thread.total = scaled(thread.total, factor);
    }
    profile.scale = scale;
    return profile;
}

Profile focus(Profile profile, std::string_view name) {
    std::vector<bool> is_match(profile.functions.size() + 1);
    for (const FunctionId id : find_focused(profile, name)) {
        is_match[id.value] = true;
    }
    constexpr Index kOutside = TreeBuilder::kRoot;
    std::vector<Index> index_of(profile.nodes.size(), kOutside);
    TreeBuilder tree;
    const Index category = tree.add_category(std::string{name});
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        Index parent = index_of[node.parent.value];
        if (parent == kOutside && is_match[node.function.value]) {
            parent = category;
        }
        if (parent != kOutside) {
            index_of[id.value] =
                tree.child(parent, node.function,
                           parent == category ? CallSite{node.line, 0, {}}
                                              : CallSite{node.line, node.call_line, node.inlining});
            tree.move_self(profile, id, index_of[id.value]);
        }
    }
    std::move(tree).finish(profile);
    return profile;
}

Profile search(Profile profile, std::string_view text) {
    const std::vector<bool> is_match =
        matching(profile.functions,
                 [text](const Function& function) { return label_contains(function, text); });
    const auto categories = category_names(profile);
    std::vector<bool> is_inside(profile.nodes.size());
    Copy copy{profile};
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        const std::string* category = categories[id.value];
        is_inside[id.value] = is_inside[node.parent.value] || is_match[node.function.value] ||
                              (category != nullptr && category->find(text) != std::string::npos);
        copy.add(id);
        if (is_inside[id.value]) {
            copy.move_self(id);
        }
    }
    std::move(copy).finish();
    return profile;
}

Profile rename(Profile profile, const std::function<std::string(const Function&)>& new_name) {
    return fold_parts(std::move(profile), [&new_name](const Function& function) {
        return Whole{new_name(function), false};
    });
}

Profile fold_parts(Profile profile, const std::function<Whole(const Function&)>& whole_of) {
    using Key = std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>;
    std::map<Key, FunctionId> known;
    std::vector<Function> functions;
    std::vector<FunctionId> new_id(profile.functions.size() + 1);
    std::vector<bool> is_called_part(new_id.size());
    for (std::uint32_t old = 1; old < new_id.size(); ++old) {
        Function& function = profile.functions[old - 1];
        FunctionId& id = new_id[old];
        const FunctionId next = id = FunctionId{static_cast<std::uint32_t>(functions.size() + 1)};
        if (FunctionId{old} != profile.memory) {
            Whole whole = whole_of(function);
            is_called_part[old] = whole.calls_its_part;
            function.name = whole.name.empty() ? function.name : std::move(whole.name);
            const Key key{function.name, function.source, function.module, function.flags};
            id = known.try_emplace(key, next).first->second;
        }
        if (id == next) {
            functions.push_back(std::move(function));
        } else if (std::uint32_t& line = functions[id.value - 1].line;
                   line == 0 || (function.line != 0 && function.line < line)) {
            line = function.line;
        }
    }
    const std::vector<NodeId> nodes = preorder(profile);
    std::vector<NodeId> whole(profile.nodes.size());  // by node: the one that it is a part of
    for (const NodeId id : nodes) {
        const Node& node = profile.node(id);
        const FunctionId caller = profile.node(node.parent).function;
        const bool is_part = is_called_part[node.function.value] && caller != node.function &&
                             new_id[caller.value] == new_id[node.function.value];
        whole[id.value] = is_part ? whole[node.parent.value] : id;
    }
    for (Node& node : profile.nodes) {
        node.function = new_id[node.function.value];
    }
    profile.functions = std::move(functions);
    if (profile.memory) {
        profile.memory = new_id[profile.memory->value];
    }
    Copy copy{profile};
    for (const NodeId id : nodes) {
        copy.add_beside(id, whole[id.value]);
        copy.move_self(id);
    }
    std::move(copy).finish();
    return profile;
}

std::vector<FunctionId> find_functions(const Profile& profile, std::string_view text) {
    return ids_of(matching(profile.functions, [text](const Function& function) {
        return label_contains(function, text) || function.source.find(text) != std::string::npos;
    }));
}

void sort_by_self(const Profile& profile, std::vector<FunctionId>& ids) {
    std::sort(ids.begin(), ids.end(), [&](FunctionId left, FunctionId right) {
        const Function& a = profile.function(left);
        const Function& b = profile.function(right);
        if (a.self != b.self) {
            return a.self > b.self;
        }
        if (a.total != b.total) {
            return a.total > b.total;
        }
        return a.name != b.name ? a.name < b.name : left < right;
    });
}

}  // namespace sample::callgraph

#include "callgraph/transforms.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace sample::callgraph {

namespace {

using Index = TreeBuilder::Index;

/// By a NodeId's value: what the category is called that has this node; nullptr for other nodes.
std::vector<std::string*> names_of_categories(Profile& profile) {
    std::vector<std::string*> names(profile.nodes.size());
    for (Category& category : profile.categories) {
        names[category.node.value] = &category.name;
    }
    return names;
}

/// A tree like `profile`'s, grown node by node in preorder.
class Copy {
public:
    explicit Copy(Profile& profile)
        : profile_{profile},
          categories_{names_of_categories(profile)},
          index_of_(profile.nodes.size(), kNone) {
        if (!index_of_.empty()) {
            index_of_[0] = TreeBuilder::kRoot;
        }
    }

    /// Copies a node without its time, unless its parent was not copied. True if it was.
    bool add(NodeId id) {
        const Node& node = profile_.node(id);
        const Index parent = index_of_[node.parent.value];
        if (id == NodeId{} || parent == kNone) {
            return id == NodeId{};
        }
        std::string* category = categories_[id.value];
        index_of_[id.value] = category != nullptr
                                  ? tree_.add_category(*category)
                                  : tree_.child(parent, node.function, site_of(node));
        return true;
    }
    /// Puts a node in its parent's place: its children become the parent's, called where it was.
    void fold(NodeId id) {
        const Node& node = profile_.node(id);
        index_of_[id.value] = index_of_[node.parent.value];
        folded_[id.value] = site_of(node).call_line;
    }
    void move_self(NodeId id) { tree_.move_self(profile_, id, index_of_[id.value]); }
    void add_self(NodeId id, std::uint64_t ns, std::uint64_t samples) {
        tree_.add_self(index_of_[id.value], ns, samples);
    }
    void finish() && { std::move(tree_).finish(profile_); }

private:
    static constexpr Index kNone = 0xffffffff;

    [[nodiscard]] CallSite site_of(const Node& node) const {
        CallSite site = call_site(node);
        if (const auto folded = folded_.find(node.parent.value); folded != folded_.end()) {
            site.call_line = folded->second;
        }
        return site;
    }

    Profile& profile_;
    std::vector<std::string*> categories_;
    std::vector<Index> index_of_;
    std::unordered_map<std::uint32_t, std::uint32_t> folded_;  ///< Folded nodes' call lines.
    TreeBuilder tree_;
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
    constexpr double kNsPerSecond = 1e9;
    constexpr double kMsPerSecond = 1e3;
    if (profile.stats.wall_ns != 0) {
        return static_cast<double>(profile.stats.wall_ns) / kNsPerSecond;
    }
    if (profile.end_unix_ms > profile.start_unix_ms) {
        return static_cast<double>(profile.end_unix_ms - profile.start_unix_ms) / kMsPerSecond;
    }
    return std::nullopt;
}

std::uint64_t scaled(std::uint64_t ns, long double factor) {
    return static_cast<std::uint64_t>(static_cast<long double>(ns) * factor);
}

bool label_contains(const Function& function, std::string_view text) {
    return label(function).find(text) != std::string::npos;
}

/// By a FunctionId's value; [0] is false.
std::vector<bool> matching(const Profile& profile,
                           const std::function<bool(const Function&)>& matches) {
    std::vector<bool> result(profile.functions.size() + 1);
    for (std::size_t i = 0; i < profile.functions.size(); ++i) {
        result[i + 1] = matches(profile.functions[i]);
    }
    return result;
}

std::vector<bool> named(const Profile& profile, std::string_view name) {
    std::vector<bool> exact =
        matching(profile, [name](const Function& each) { return is_named(each, name); });
    for (const bool is_match : exact) {
        if (is_match) {
            return exact;
        }
    }
    return matching(profile, [name](const Function& each) { return label_contains(each, name); });
}

}  // namespace

Profile hide_gc(Profile profile) {
    if (!profile.gc) {
        return profile;
    }
    const FunctionId gc = *profile.gc;
    return without(std::move(profile), [gc](FunctionId function) { return function == gc; });
}

Profile hide_plugins(Profile profile) {
    const auto is_plugin =
        matching(profile, [](const Function& function) { return (function.flags & kPlugin) != 0; });
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

Profile average(Profile profile, double seconds) {
    constexpr long double kLimit = 0x1p63L;
    const std::optional<double> length = session_seconds(profile);
    if (!length || !(seconds > 0) || profile.nodes.empty()) {
        return profile;
    }
    const double scale = seconds / *length;
    const long double factor =
        static_cast<long double>(scale) / static_cast<long double>(profile.scale);
    if (!(static_cast<long double>(profile.nodes[0].total_ns) * factor < kLimit)) {
        return profile;
    }
    profile.timeline.reset();  // These are durations that nobody measured.
    // Rounding the running sum, not each node, keeps every total within a nanosecond of its own.
    std::uint64_t before = 0;
    Copy copy{profile};
    for (const NodeId id : preorder(profile)) {
        const Node& node = profile.node(id);
        copy.add(id);
        const std::uint64_t after = before + node.self_ns;
        copy.add_self(id, scaled(after, factor) - scaled(before, factor), node.self_samples);
        before = after;
    }
    std::move(copy).finish();
    for (ThreadTotals& thread : profile.threads) {
        thread.cpu_ns = scaled(thread.cpu_ns, factor);
    }
    profile.scale = scale;
    return profile;
}

Profile focus(Profile profile, std::string_view name) {
    const std::vector<bool> is_match = named(profile, name);
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
                           parent == category ? CallSite{node.line, 0, {}} : call_site(node));
            tree.move_self(profile, id, index_of[id.value]);
        }
    }
    std::move(tree).finish(profile);
    return profile;
}

Profile search(Profile profile, std::string_view text) {
    const std::vector<bool> is_match = matching(
        profile, [text](const Function& function) { return label_contains(function, text); });
    const auto categories = names_of_categories(profile);
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

std::vector<FunctionId> find_functions(const Profile& profile, std::string_view text) {
    const std::vector<bool> is_match = matching(profile, [text](const Function& function) {
        return label_contains(function, text) || function.source.find(text) != std::string::npos;
    });
    std::vector<FunctionId> found;
    for (std::uint32_t id = 1; id < is_match.size(); ++id) {
        if (is_match[id]) {
            found.push_back(FunctionId{id});
        }
    }
    return found;
}

void sort_by_self(const Profile& profile, std::vector<FunctionId>& ids) {
    std::sort(ids.begin(), ids.end(), [&](FunctionId left, FunctionId right) {
        const Function& a = profile.function(left);
        const Function& b = profile.function(right);
        if (a.self_ns != b.self_ns) {
            return a.self_ns > b.self_ns;
        }
        if (a.total_ns != b.total_ns) {
            return a.total_ns > b.total_ns;
        }
        return a.name != b.name ? a.name < b.name : left < right;
    });
}

}  // namespace sample::callgraph

// From a parsed script-profiler document to a Profile: references are followed, and whatever does
// not make one tree is refused.
#include "import/script_profiler_json.h"

#include "callgraph/tree.h"
#include "import/script_profiler_document.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace sample::imports {

namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxIds = std::numeric_limits<std::uint32_t>::max() - 1;

/// A document that names an event counts it; all others have microseconds.
bool is_count(const ScriptProfilerDocument& document) {
    return !document.event.empty() && !document.unit.empty();
}

std::uint64_t nanoseconds_a_unit(const ScriptProfilerDocument& document) {
    return is_count(document) ? 1 : kNsPerUs;
}

std::string node_name(std::size_t id) {
    return "node " + std::to_string(id);
}

/// Follows every reference of a document once. Node 0 stands for the root.
class TreeReader {
public:
    explicit TreeReader(const ScriptProfilerDocument& document) : document_{document} {}

    /// Fills profile's nodes and categories, without totals.
    Result<void> read(Profile& profile);
    [[nodiscard]] std::size_t unreached() const { return unreached_; }

private:
    Result<void> link_categories();
    Result<void> link_children(std::uint32_t id, const NodeEntry& entry);
    Result<void> link(std::uint32_t parent, std::uint64_t child, std::uint32_t function);
    /// Marks everything below `from`, which is below no other node.
    void reach(std::uint32_t from, std::vector<bool>& is_reached) const;
    Result<void> find_reached();
    void move_to(Profile& profile);

    const ScriptProfilerDocument& document_;
    std::vector<Node> nodes_;
    std::vector<bool> has_parent_;
    std::vector<bool> is_reached_;
    std::vector<std::uint32_t> last_caller_;  ///< By function: the last node seen calling it.
    std::size_t unreached_ = 0;
};

Result<void> TreeReader::read(Profile& profile) {
    if (document_.nodes.size() > kMaxIds || document_.functions.size() > kMaxIds) {
        return unexpected(ErrorCode::corrupt, "more than 2^32 nodes or functions");
    }
    nodes_.resize(document_.nodes.size() + 1);
    has_parent_.resize(nodes_.size());
    last_caller_.resize(document_.functions.size() + 1);
    if (auto linked = link_categories(); !linked) {
        return linked;
    }
    for (std::uint32_t id = 1; id < nodes_.size(); ++id) {
        if (auto linked = link_children(id, document_.nodes[id - 1]); !linked) {
            return linked;
        }
    }
    if (auto found = find_reached(); !found) {
        return found;
    }
    move_to(profile);
    return {};
}

Result<void> TreeReader::link_categories() {
    for (const CategoryEntry& category : document_.categories) {
        if (auto linked = link(0, category.node, 0); !linked) {
            return unexpected(ErrorCode::corrupt,
                              "category \"" + category.name + "\": " + linked.error().context);
        }
    }
    return {};
}

Result<void> TreeReader::link_children(std::uint32_t id, const NodeEntry& entry) {
    for (std::size_t i = 0; i < entry.nodes.size(); ++i) {
        const std::uint64_t function = entry.functions[i];
        if (function == 0 || function > document_.functions.size()) {
            return unexpected(ErrorCode::corrupt,
                              node_name(id) + ": there is no function " + std::to_string(function));
        }
        if (std::exchange(last_caller_[function], id) == id) {
            return unexpected(ErrorCode::corrupt, node_name(id) + ": two children for function " +
                                                      std::to_string(function));
        }
        auto linked = link(id, entry.nodes[i], static_cast<std::uint32_t>(function));
        if (!linked) {
            return unexpected(ErrorCode::corrupt, node_name(id) + ": " + linked.error().context);
        }
    }
    return {};
}

Result<void> TreeReader::link(std::uint32_t parent, std::uint64_t child, std::uint32_t function) {
    if (child == 0 || child >= nodes_.size()) {
        return unexpected(ErrorCode::corrupt, "there is no " + node_name(child));
    }
    if (has_parent_[child]) {
        return unexpected(ErrorCode::corrupt, node_name(child) + " has a parent already");
    }
    has_parent_[child] = true;
    const NodeId id{static_cast<std::uint32_t>(child)};
    nodes_[child].parent = NodeId{parent};
    nodes_[child].function = FunctionId{function};
    nodes_[parent].children.push_back(id);
    return {};
}

void TreeReader::reach(std::uint32_t from, std::vector<bool>& is_reached) const {
    std::vector<std::uint32_t> pending{from};
    while (!pending.empty()) {
        const std::uint32_t id = pending.back();
        pending.pop_back();
        is_reached[id] = true;
        for (const NodeId child : nodes_[id].children) {
            pending.push_back(child.value);
        }
    }
}

Result<void> TreeReader::find_reached() {
    // Every node has at most one parent, so a node below no root is on a cycle or below one.
    is_reached_.resize(nodes_.size());
    reach(0, is_reached_);
    unreached_ =
        static_cast<std::size_t>(std::count(is_reached_.begin(), is_reached_.end(), false));
    std::vector<bool> is_in_a_tree = is_reached_;
    for (std::uint32_t id = 1; id < nodes_.size(); ++id) {
        if (!has_parent_[id]) {
            reach(id, is_in_a_tree);
        }
    }
    const auto cyclic = std::find(is_in_a_tree.begin(), is_in_a_tree.end(), false);
    if (cyclic != is_in_a_tree.end()) {
        return unexpected(ErrorCode::corrupt,
                          node_name(static_cast<std::size_t>(cyclic - is_in_a_tree.begin())) +
                              " is its own ancestor, or below one that is");
    }
    return {};
}

void TreeReader::move_to(Profile& profile) {
    std::vector<NodeId> renumbered(nodes_.size());
    std::uint32_t count = 0;
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
        renumbered[id] = NodeId{is_reached_[id] ? count++ : 0};
    }
    profile.nodes.reserve(count);
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
        if (!is_reached_[id]) {
            continue;
        }
        Node& node = nodes_[id];
        node.parent = renumbered[node.parent.value];
        for (NodeId& child : node.children) {
            child = renumbered[child.value];
        }
        if (id != 0) {
            node.total_ns = document_.nodes[id - 1].total * nanoseconds_a_unit(document_);
            node.samples = document_.nodes[id - 1].samples;
            node.inlining = static_cast<callgraph::Inlining>(document_.nodes[id - 1].inlined);
            node.call_line = static_cast<std::uint32_t>(document_.nodes[id - 1].call_line);
        }
        profile.nodes.push_back(std::move(node));
    }
    for (const CategoryEntry& category : document_.categories) {
        profile.categories.push_back({category.name, renumbered[category.node]});
    }
}

Result<void> check_numbers(const ScriptProfilerDocument& document) {
    const std::uint64_t most = kMax / nanoseconds_a_unit(document);
    constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < document.nodes.size(); ++i) {
        if (document.nodes[i].total > most) {
            return unexpected(ErrorCode::corrupt, node_name(i + 1) + ": TotalDuration overflows");
        }
        if (document.nodes[i].call_line > kMax32) {
            return unexpected(ErrorCode::corrupt,
                              node_name(i + 1) + ": CallLine has more than 32 bits");
        }
        if (document.nodes[i].inlined > static_cast<std::uint64_t>(callgraph::Inlining::some)) {
            return unexpected(ErrorCode::corrupt, node_name(i + 1) + ": Inlined must be 0, 1 or 2");
        }
    }
    for (std::size_t i = 0; i < document.functions.size(); ++i) {
        const FunctionEntry& function = document.functions[i];
        const std::string place = "function " + std::to_string(i + 1) + ": ";
        if (function.total > most) {
            return unexpected(ErrorCode::corrupt, place + "TotalDuration overflows");
        }
        if (function.line > kMax32 || function.flags > kMax32) {
            return unexpected(ErrorCode::corrupt, place + "Line or Flags has more than 32 bits");
        }
    }
    if (document.gc_function > document.functions.size()) {
        return unexpected(ErrorCode::corrupt,
                          "GCFuncId: there is no function " + std::to_string(document.gc_function));
    }
    if (document.end_unix_ms > kMax / kNsPerMs) {
        return unexpected(ErrorCode::corrupt, "SessionEndTime is not in milliseconds since 1970");
    }
    return {};
}

/// Makes every node's total at least its children's sum, finds what is left for the node itself,
/// and puts the heaviest child first. Adds how many totals had to be raised to `raised`.
Result<void> fill_self(std::vector<Node>& nodes, std::span<const NodeId> parents_first,
                       std::size_t& raised) {
    for (std::size_t i = parents_first.size(); i-- > 0;) {
        Node& node = nodes[parents_first[i].value];
        std::uint64_t children_ns = 0;
        std::uint64_t children_samples = 0;
        for (const NodeId child : node.children) {
            if (__builtin_add_overflow(children_ns, nodes[child.value].total_ns, &children_ns) ||
                __builtin_add_overflow(children_samples, nodes[child.value].samples,
                                       &children_samples)) {
                return unexpected(ErrorCode::corrupt, node_name(parents_first[i].value) +
                                                          ": the sum of its children overflows");
            }
        }
        if (children_ns > node.total_ns && i != 0) {
            ++raised;
        }
        node.total_ns = std::max(node.total_ns, children_ns);
        node.samples = std::max(node.samples, children_samples);
        node.self_ns = node.total_ns - children_ns;
        node.self_samples = node.samples - children_samples;
        std::stable_sort(node.children.begin(), node.children.end(),
                         [&](NodeId left, NodeId right) {
                             return nodes[left.value].total_ns > nodes[right.value].total_ns;
                         });
    }
    return {};
}

void fill_functions(Profile& profile, const ScriptProfilerDocument& document) {
    profile.functions.resize(document.functions.size());
    for (std::size_t i = 0; i < document.functions.size(); ++i) {
        const FunctionEntry& entry = document.functions[i];
        Function& function = profile.functions[i];
        function.name = entry.name;
        function.source = entry.source;
        function.line = static_cast<std::uint32_t>(entry.line);
        function.flags = static_cast<std::uint32_t>(entry.flags);
    }
    callgraph::recompute_functions(profile);
    // The document's own totals were floored once, not once a node.
    for (std::size_t i = 0; i < document.functions.size(); ++i) {
        profile.functions[i].total_ns = document.functions[i].total * nanoseconds_a_unit(document);
        profile.functions[i].samples = document.functions[i].samples;
    }
}

void fill_stats(Profile& profile, std::size_t unreached, std::size_t raised) {
    profile.stats.sampled_ns = profile.nodes[0].total_ns;
    profile.stats.samples = profile.nodes[0].samples;
    if (profile.end_unix_ms > profile.start_unix_ms) {
        profile.stats.wall_ns = (profile.end_unix_ms - profile.start_unix_ms) * kNsPerMs;
    }
    if (unreached != 0) {
        profile.stats.notes.push_back(std::to_string(unreached) +
                                      " nodes that no category leads to were left out");
    }
    if (raised != 0) {
        profile.stats.notes.push_back(
            std::to_string(raised) +
            " nodes had less time than their children and were raised to the children's sum");
    }
}

}  // namespace

Result<Profile> read_script_profiler_json(std::string_view text) {
    const Result<ScriptProfilerDocument> document = parse_script_profiler_json(text);
    if (!document) {
        return unexpected(document.error());
    }
    if (auto checked = check_numbers(*document); !checked) {
        return unexpected(checked.error());
    }
    Profile profile;
    profile.start_unix_ms = document->start_unix_ms;
    profile.end_unix_ms = document->end_unix_ms;
    profile.scale = document->scale;
    profile.event = document->event;
    profile.unit = is_count(*document) ? document->unit : "";
    TreeReader tree{*document};
    if (auto read = tree.read(profile); !read) {
        return unexpected(read.error());
    }
    std::size_t raised = 0;
    if (auto filled = fill_self(profile.nodes, callgraph::preorder(profile), raised); !filled) {
        return unexpected(filled.error());
    }
    fill_functions(profile, *document);
    if (document->gc_function != 0) {
        profile.gc = FunctionId{static_cast<std::uint32_t>(document->gc_function)};
    }
    fill_stats(profile, tree.unreached(), raised);
    return profile;
}

}  // namespace sample::imports

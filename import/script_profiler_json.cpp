// The script-profiler JSON, version 2: read as it stands, with ids of nodes and functions not
// looked up; then references are followed, and whatever does not make one tree is refused.
#include "callgraph/tree.h"
#include "core/units.h"
#include "import/json_reader.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::string node_name(std::size_t id) {
    return "node " + std::to_string(id);
}

struct CategoryEntry {
    std::string name;
    std::uint64_t node = 0;
};

/// A profile while it is read. Totals are what the file counts; node 0 stands for the root.
struct Document : Profile {
    std::uint64_t gc_function = 0;  ///< 0: the document has none.
    std::vector<CategoryEntry> entries;
    std::vector<std::uint64_t> callee_functions;  ///< Of one node after the other.
    std::vector<std::uint64_t> callee_nodes;
    std::vector<std::size_t> callees_end{0};  ///< By node.
};

/// A node while it is read.
struct NodeFields : Node {
    explicit NodeFields(Document& of) : document{of} {}

    Document& document;
    bool has_functions = false;
    bool has_nodes = false;
};

bool read_inlined(JsonReader& reader, std::string_view key, JsonValue value, NodeFields& node) {
    std::uint64_t inlined = 0;
    if (!reader.read(key, value, inlined)) {
        return false;
    }
    node.inlining = static_cast<callgraph::Inlining>(inlined);
    return inlined <= static_cast<std::uint64_t>(callgraph::Inlining::some) ||
           reader.fail("Inlined must be 0, 1 or 2");
}

bool read_references(JsonReader& reader, std::string_view key, JsonValue value,
                     std::vector<std::uint64_t>& ids) {
    return reader.array(key, value, [&](JsonValue each) {
        return reader.read(key, each, ids.emplace_back(), "hold ids");
    });
}

bool read_function_ids(JsonReader& reader, std::string_view key, JsonValue value,
                       NodeFields& node) {
    node.has_functions = true;
    return read_references(reader, key, value, node.document.callee_functions);
}

bool read_node_ids(JsonReader& reader, std::string_view key, JsonValue value, NodeFields& node) {
    node.has_nodes = true;
    return read_references(reader, key, value, node.document.callee_nodes);
}

bool read_node(JsonReader& reader, JsonObject object, Document& document) {
    constexpr std::array kFields{
        JsonField<NodeFields>{"TotalDuration", &NodeFields::total, true},
        JsonField<NodeFields>{"Samples", &NodeFields::samples},
        JsonField<NodeFields>{"Inlined", read_inlined},
        JsonField<NodeFields>{"CallLine", &NodeFields::call_line},
        JsonField<NodeFields>{"FunctionIds", read_function_ids},
        JsonField<NodeFields>{"NodeIds", read_node_ids},
    };
    const std::size_t begin = document.callee_nodes.size();
    NodeFields node{document};
    if (!reader.read(object, node, kFields)) {
        return false;
    }
    if (node.has_functions != node.has_nodes) {
        return reader.fail("FunctionIds and NodeIds must be there both or neither");
    }
    const std::size_t end = document.callee_nodes.size();
    if (document.callee_functions.size() != end) {
        return reader.fail("FunctionIds has " +
                           std::to_string(document.callee_functions.size() - begin) +
                           " entries and NodeIds " + std::to_string(end - begin));
    }
    document.callees_end.push_back(end);
    document.nodes.push_back(node);
    return true;
}

bool read_nodes(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    return reader.objects(key, value, "node ",
                          [&](JsonObject each) { return read_node(reader, each, document); });
}

bool read_functions(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    constexpr std::array kFields{
        JsonField<Function>{"TotalDuration", &Function::total, true},
        JsonField<Function>{"Samples", &Function::samples},
        JsonField<Function>{"Name", &Function::name},
        JsonField<Function>{"Source", &Function::source},
        JsonField<Function>{"Line", &Function::line},
        JsonField<Function>{"Flags", &Function::flags},
    };
    return reader.objects(key, value, "function ", [&](JsonObject each) {
        return reader.read(each, document.functions.emplace_back(), kFields);
    });
}

bool read_categories(JsonReader& reader, std::string_view key, JsonValue value,
                     Document& document) {
    constexpr std::array kFields{
        JsonField<CategoryEntry>{"Name", &CategoryEntry::name, true},
        JsonField<CategoryEntry>{"NodeId", &CategoryEntry::node, true},
    };
    return reader.objects(key, value, "category ", [&](JsonObject each) {
        return reader.read(each, document.entries.emplace_back(), kFields);
    });
}

bool read_version(JsonReader& reader, std::string_view key, JsonValue value,
                  Document& /*document*/) {
    constexpr std::uint64_t kVersion = 2;
    std::uint64_t version = 0;
    return reader.read(key, value, version) &&
           (version == kVersion || reader.fail("version " + std::to_string(version) +
                                                   " of the format is not supported: export "
                                                   "version 2",
                                               ErrorCode::unsupported));
}

bool read_gc(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    return reader.read(key, value, document.gc_function) &&
           (document.gc_function != 0 ||
            reader.fail("GCFuncId must be the id of a function, not 0"));
}

bool read_scale(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    return reader.read(key, value, document.scale) &&
           (document.scale > 0 || reader.fail("Scale must be greater than 0"));
}

bool read_net(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    std::uint64_t net = 0;
    if (!reader.read(key, value, net)) {
        return false;
    }
    document.is_net = net == 1;
    return net <= 1 || reader.fail("Net must be 0 or 1");
}

bool read_unit(JsonReader& reader, std::string_view key, JsonValue value, Document& document) {
    return reader.read(key, value, document.metric.unit);
}

constexpr std::array kDocumentFields{
    JsonField<Document>{"Version", read_version, true},
    JsonField<Document>{"SessionStartTime", &Document::start_unix_ms},
    JsonField<Document>{"SessionEndTime", &Document::end_unix_ms},
    JsonField<Document>{"GCFuncId", read_gc},
    JsonField<Document>{"Net", read_net},
    JsonField<Document>{"Scale", read_scale},
    JsonField<Document>{"Event", &Document::event},
    JsonField<Document>{"Unit", read_unit},
    JsonField<Document>{"Categories", read_categories, true},
    JsonField<Document>{"Nodes", read_nodes, true},
    JsonField<Document>{"Functions", read_functions, true},
};

/// Makes a profile of a document. Functions that return bool return false after an error.
class Linker {
public:
    explicit Linker(Document& document) : document_{document} {}

    Result<Profile> link() &&;

private:
    std::vector<Node>& nodes() { return document_.nodes; }
    bool fail(std::string what) {
        problem_ = std::move(what);
        return false;
    }
    void note_count(std::size_t count, const char* what) {
        if (count != 0) {
            document_.stats.notes.push_back(std::to_string(count) + what);
        }
    }
    /// To nanoseconds, where no event was counted.
    template <class Entry>
    bool scale_totals(std::vector<Entry>& entries, std::string_view what, std::size_t first_id);
    bool check_session();
    bool link_categories();
    bool link_nodes();
    bool link(std::uint32_t parent, std::uint64_t child, std::uint64_t function);
    /// Marks everything below `from`, which is below no other node.
    void reach(std::uint32_t from, std::vector<bool>& is_reached);
    bool find_reached();
    void drop_unreached();
    /// Makes every node's total at least its children's sum, finds what is left for the node
    /// itself, and puts the heaviest child first.
    bool fill_self();
    void fill_functions();
    void fill_session();

    Document& document_;
    std::vector<bool> has_parent_;
    std::vector<bool> is_reached_;
    std::string problem_;
};

template <class Entry>
bool Linker::scale_totals(std::vector<Entry>& entries, std::string_view what,
                          std::size_t first_id) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (__builtin_mul_overflow(entries[i].total, kNsPerUs, &entries[i].total)) {
            return fail(numbered(what, i + first_id - 1) + ": TotalDuration overflows");
        }
    }
    return true;
}

bool Linker::check_session() {
    if (document_.gc_function > document_.functions.size()) {
        return fail("GCFuncId: there is no function " + std::to_string(document_.gc_function));
    }
    if (document_.end_unix_ms > kMax / kNsPerMs) {
        return fail("SessionEndTime is not in milliseconds since 1970");
    }
    return (nodes().size() <= kMax32 && document_.functions.size() < kMax32) ||
           fail("more than 2^32 nodes or functions");
}

bool Linker::link_categories() {
    has_parent_.resize(nodes().size());
    for (const CategoryEntry& category : document_.entries) {
        if (!link(0, category.node, 0)) {
            return fail("category \"" + category.name + "\": " + problem_);
        }
    }
    return true;
}

bool Linker::link_nodes() {
    std::vector<std::uint32_t> last_caller(document_.functions.size() + 1);
    std::size_t callee = 0;
    for (std::uint32_t id = 1; id < nodes().size(); ++id) {
        for (; callee < document_.callees_end[id]; ++callee) {
            const std::uint64_t function = document_.callee_functions[callee];
            if (function == 0 || function > document_.functions.size()) {
                return fail(node_name(id) + ": there is no function " + std::to_string(function));
            }
            if (std::exchange(last_caller[function], id) == id) {
                return fail(node_name(id) + ": two children for function " +
                            std::to_string(function));
            }
            if (!link(id, document_.callee_nodes[callee], function)) {
                return fail(node_name(id) + ": " + problem_);
            }
        }
    }
    return true;
}

bool Linker::link(std::uint32_t parent, std::uint64_t child, std::uint64_t function) {
    if (child == 0 || child >= nodes().size()) {
        return fail("there is no " + node_name(child));
    }
    if (has_parent_[child]) {
        return fail(node_name(child) + " has a parent already");
    }
    has_parent_[child] = true;
    nodes()[child].parent = NodeId{parent};
    nodes()[child].function = FunctionId{static_cast<std::uint32_t>(function)};
    // The last one first; fill_self() puts them in order.
    nodes()[child].next_sibling =
        std::exchange(nodes()[parent].first_child, NodeId{static_cast<std::uint32_t>(child)});
    return true;
}

void Linker::reach(std::uint32_t from, std::vector<bool>& is_reached) {
    std::vector<std::uint32_t> pending{from};
    while (!pending.empty()) {
        const std::uint32_t id = pending.back();
        pending.pop_back();
        is_reached[id] = true;
        for (const NodeId child : document_.children(NodeId{id})) {
            pending.push_back(child.value);
        }
    }
}

bool Linker::find_reached() {
    // Every node has at most one parent, so a node below no root is on a cycle or below one.
    is_reached_.resize(nodes().size());
    reach(0, is_reached_);
    std::vector<bool> is_in_a_tree = is_reached_;
    for (std::uint32_t id = 1; id < nodes().size(); ++id) {
        if (!has_parent_[id]) {
            reach(id, is_in_a_tree);
        }
    }
    const auto cyclic = std::find(is_in_a_tree.begin(), is_in_a_tree.end(), false);
    return cyclic == is_in_a_tree.end() ||
           fail(node_name(static_cast<std::size_t>(cyclic - is_in_a_tree.begin())) +
                " is its own ancestor, or below one that is");
}

void Linker::drop_unreached() {
    std::vector<NodeId> renumbered(nodes().size());
    std::uint32_t count = 0;
    for (std::uint32_t id = 0; id < nodes().size(); ++id) {
        renumbered[id] = NodeId{is_reached_[id] ? count++ : 0};
    }
    for (std::uint32_t id = 0; id < nodes().size(); ++id) {
        if (!is_reached_[id]) {
            continue;
        }
        Node node = nodes()[id];
        node.parent = renumbered[node.parent.value];
        node.first_child = renumbered[node.first_child.value];
        node.next_sibling = renumbered[node.next_sibling.value];
        nodes()[renumbered[id].value] = node;
    }
    note_count(nodes().size() - count, " nodes that no category leads to were left out");
    nodes().resize(count);
    for (const CategoryEntry& category : document_.entries) {
        document_.categories.push_back({category.name, renumbered[category.node]});
    }
}

bool Linker::fill_self() {
    const std::vector<NodeId> parents_first = callgraph::preorder(document_);
    std::size_t raised = 0;
    std::vector<NodeId> in_order;
    for (std::size_t i = parents_first.size(); i-- > 0;) {
        Node& node = nodes()[parents_first[i].value];
        std::uint64_t children = 0;
        std::uint64_t children_samples = 0;
        const callgraph::Children linked = document_.children(node);
        in_order.assign(linked.begin(), linked.end());
        for (const NodeId child_id : in_order) {
            const Node& child = nodes()[child_id.value];
            if (__builtin_add_overflow(children, child.total, &children) ||
                __builtin_add_overflow(children_samples, child.samples, &children_samples)) {
                return fail(node_name(parents_first[i].value) +
                            ": the sum of its children overflows");
            }
        }
        raised += children > node.total && i != 0 ? 1U : 0U;
        node.total = std::max(node.total, children);
        node.samples = std::max(node.samples, children_samples);
        node.self = node.total - children;
        node.self_samples = node.samples - children_samples;
        std::reverse(in_order.begin(), in_order.end());
        std::stable_sort(in_order.begin(), in_order.end(), [&](NodeId left, NodeId right) {
            return nodes()[left.value].total > nodes()[right.value].total;
        });
        callgraph::set_children(nodes(), parents_first[i], in_order);
    }
    note_count(raised,
               " nodes had less time than their children and were raised to the children's sum");
    return true;
}

void Linker::fill_functions() {
    std::vector<Function> given = document_.functions;
    callgraph::recompute_functions(document_);
    // The document's own totals were floored once, not once a node.
    for (std::size_t i = 0; i < given.size(); ++i) {
        document_.functions[i].total = given[i].total;
        document_.functions[i].samples = given[i].samples;
    }
}

void Linker::fill_session() {
    if (document_.gc_function != 0) {
        document_.memory = FunctionId{static_cast<std::uint32_t>(document_.gc_function)};
        // The format's word for it.
        if (std::string& name = document_.functions[document_.gc_function - 1].name; name == "GC") {
            name = callgraph::kMemoryName;
        }
    }
    document_.stats.sampled = nodes()[0].total;
    document_.stats.samples = nodes()[0].samples;
    document_.stats.counts_samples = nodes()[0].samples != 0 || nodes()[0].total == 0;
    if (document_.end_unix_ms > document_.start_unix_ms) {
        document_.stats.wall_ns = (document_.end_unix_ms - document_.start_unix_ms) * kNsPerMs;
    }
}

Result<Profile> Linker::link() && {
    // A document that names an event counts it; all others have microseconds.
    const bool is_count = !document_.event.empty() && !document_.metric.unit.empty();
    document_.metric.unit = is_count ? document_.metric.unit : "";
    const bool is_scaled = is_count || (scale_totals(nodes(), "node ", 0) &&
                                        scale_totals(document_.functions, "function ", 1));
    if (!is_scaled || !check_session() || !link_categories() || !link_nodes() || !find_reached()) {
        return unexpected(ErrorCode::corrupt, problem_);
    }
    drop_unreached();
    if (!fill_self()) {
        return unexpected(ErrorCode::corrupt, problem_);
    }
    fill_functions();
    fill_session();
    return std::move(static_cast<Profile&>(document_));
}

}  // namespace

Result<Profile> read_script_profiler_json(std::string_view text) {
    Document document;
    document.nodes.emplace_back();
    JsonReader reader{text};
    const bool is_read = reader.document(
        [&](JsonObject root) { return reader.read(root, document, kDocumentFields); });
    return is_read ? Linker{document}.link() : unexpected(reader.error());
}

}  // namespace sample::imports

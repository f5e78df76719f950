#include "export/script_profiler_json.h"

#include "callgraph/label.h"
#include "export/json_string.h"
#include "export/profile_facts.h"
#include "export/sibling_names.h"

#include <string>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Category;
using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

/// What TotalDuration counts, in nanoseconds; a count is written as it is.
std::uint64_t nanoseconds_a_unit(const Profile& profile) {
    return profile.is_time() ? 1000 : 1;
}

/// `"key":value`, and what goes before it: nothing for an object's first field.
void field(Writer& out, std::string_view before, std::string_view key, std::uint64_t value) {
    out.text(before).text("\"").text(key).text("\":").number(value);
}

void write_categories(Writer& out, const Profile& profile) {
    out.text("\"Categories\":[");
    std::string_view before = "\n";
    for (const Category& category : profile.categories) {
        out.text(before).text("{\"Name\":").text(json_string(category.name));
        field(out, ",", "NodeId", category.node.value);
        out.text("}");
        before = ",\n";
    }
    out.text("]");
}

template <class IdOf>
void write_ids(Writer& out, std::string_view key, const Node& node, const IdOf& id_of) {
    out.text(",\"").text(key).text("\":");
    std::string_view before = "[";
    for (const NodeId child : node.children) {
        out.text(before).number(id_of(child));
        before = ",";
    }
    out.text("]");
}

void write_nodes(Writer& out, const Profile& profile) {
    const std::uint64_t unit = nanoseconds_a_unit(profile);
    out.text("\"Nodes\":[");
    std::string_view before = "\n";
    for (std::size_t i = 1; i < profile.nodes.size() && out.is_good(); ++i) {
        const Node& node = profile.nodes[i];
        out.text(before);
        field(out, "{", "TotalDuration", node.total_ns / unit);
        if (!node.children.empty()) {
            write_ids(out, "FunctionIds", node,
                      [&](NodeId child) { return profile.node(child).function.value; });
            write_ids(out, "NodeIds", node, [](NodeId child) { return child.value; });
        }
        if (node.samples != 0) {
            field(out, ",", "Samples", node.samples);
        }
        if (node.inlining != callgraph::Inlining::none) {
            field(out, ",", "Inlined", static_cast<std::uint64_t>(node.inlining));
        }
        if (node.call_line != 0) {
            field(out, ",", "CallLine", node.call_line);
        }
        out.text("}");
        before = ",\n";
    }
    out.text("]");
}

void write_functions(Writer& out, const Profile& profile) {
    const std::vector<std::string> names = names_unique_among_siblings(profile);
    const std::uint64_t unit = nanoseconds_a_unit(profile);
    out.text("\"Functions\":[");
    std::string_view before = "\n";
    for (std::size_t i = 0; i < profile.functions.size() && out.is_good(); ++i) {
        const Function& function = profile.functions[i];
        out.text(before).text("{");
        if (!function.source.empty()) {
            out.text("\"Source\":").text(json_string(function.source)).text(",");
        }
        if (!names[i].empty()) {
            out.text("\"Name\":").text(json_string(names[i])).text(",");
        }
        if (function.line != 0) {
            field(out, "", "Line", function.line);
            out.text(",");
        }
        field(out, "", "TotalDuration", function.total_ns / unit);
        if (function.flags != callgraph::kNoFlags) {
            field(out, ",", "Flags", function.flags);
        }
        if (function.samples != 0) {
            field(out, ",", "Samples", function.samples);
        }
        out.text("}");
        before = ",\n";
    }
    out.text("]");
}

}  // namespace

Result<void> write_script_profiler_json(const Profile& profile, const Sink& sink) {
    constexpr std::uint64_t kVersion = 2;
    Writer out{sink};
    field(out, "{", "Version", kVersion);
    field(out, ",\n", "SessionStartTime", profile.start_unix_ms);
    field(out, ",\n", "SessionEndTime", profile.end_unix_ms);
    if (profile.gc) {
        field(out, ",\n", "GCFuncId", profile.gc->value);
    }
    if (!profile.event.empty()) {
        out.text(",\n\"Event\":").text(json_string(profile.event));
    }
    if (!profile.is_time()) {
        out.text(",\n\"Unit\":").text(json_string(profile.unit));
    }
    if (profile.scale != 1.0) {
        out.text(",\n\"Scale\":").text(scale_text(profile));
    }
    out.text(",\n");
    write_categories(out, profile);
    out.text(",\n");
    write_nodes(out, profile);
    out.text(",\n");
    write_functions(out, profile);
    out.text("}\n");
    return out.finish();
}

}  // namespace sample::exports

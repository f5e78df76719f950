#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"
#include "export/shared/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Category;
using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

constexpr std::string_view kGcName = "GC";

/// By function: true where a sibling with the same key and a lower number lies beside it somewhere.
/// `first_of`: by function, the first one with its key.
std::vector<bool> find_collisions(const Profile& profile,
                                  const std::vector<std::uint32_t>& first_of) {
    std::vector<bool> collides(profile.functions.size());
    std::unordered_map<std::uint32_t, std::uint32_t> lowest_with_key;
    for (const Node& node : profile.nodes) {
        lowest_with_key.clear();
        for (const NodeId child : profile.children(node)) {
            const FunctionId id = profile.node(child).function;
            if (id.is_none()) {
                continue;
            }
            const std::uint32_t function = id.value - 1;
            const auto [lowest, is_new] = lowest_with_key.try_emplace(first_of[function], function);
            if (!is_new) {
                collides[std::max(lowest->second, function)] = true;
                lowest->second = std::min(lowest->second, function);
            }
        }
    }
    return collides;
}

/// Each function's name, [id - 1]. Known readers tell the children of a node apart by source, name
/// and line, and lose one of two that share them. So all but the first of these are called
/// differently: by their difference(), else " (2)". Such names are not used by any other function
/// of the same source and line.
std::vector<std::string> names_unique_among_siblings(const Profile& profile) {
    using Key = std::tuple<std::string, std::string, std::uint32_t>;  // source, name, line
    std::map<Key, std::uint32_t> known;                               // the first function with it
    std::vector<std::uint32_t> first_of;
    std::vector<std::string> names;
    for (const Function& function : profile.functions) {
        const Key key{function.source, function.name, function.line};
        const auto index = static_cast<std::uint32_t>(names.size());
        first_of.push_back(known.try_emplace(key, index).first->second);
        names.push_back(function.name);
    }
    if (known.size() == names.size()) {
        return names;
    }
    const std::vector<bool> collides = find_collisions(profile, first_of);
    std::map<Key, int> copies;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        if (!collides[i]) {
            continue;
        }
        const Function& function = profile.functions[i];
        const std::string base =
            function.name + difference(profile, function, profile.functions[first_of[i]]);
        names[i] = base;
        int& copy = copies.try_emplace({function.source, base, function.line}, 1).first->second;
        while (!known.try_emplace({function.source, names[i], function.line}, i).second) {
            names[i] = fmt::format("{} ({})", base, ++copy);
        }
    }
    return names;
}

/// `unit`: of the durations, in nanoseconds.
void write_nodes(Writer& out, const Profile& profile, std::uint64_t unit) {
    const std::size_t count = std::max<std::size_t>(profile.nodes.size(), 1) - 1;
    std::vector<NodeId> children;
    json_list(out, count, "\n", ",\n", [&](std::size_t i) {
        const Node& node = profile.nodes[i + 1];
        const callgraph::Children range = profile.children(node);
        children.assign(range.begin(), range.end());
        out.put("{\"TotalDuration\":", node.total / unit);
        if (!children.empty()) {
            json_column(out, "FunctionIds", children.size(), [&](std::size_t child) {
                return profile.node(children[child]).function.value;
            });
            json_column(out, "NodeIds", children.size(),
                        [&](std::size_t child) { return children[child].value; });
        }
        json_known(out, "Samples", node.samples);
        json_known(out, "Inlined", static_cast<std::uint64_t>(node.inlining));
        json_known(out, "CallLine", node.call_line);
        out.put("}");
    });
}

void write_functions(Writer& out, const Profile& profile, std::uint64_t unit) {
    std::vector<std::string> names = names_unique_among_siblings(profile);
    if (profile.memory && profile.function(*profile.memory).name == callgraph::kMemoryName) {
        names[profile.memory->value - 1] = kGcName;
    }
    json_list(out, names.size(), "\n", ",\n", [&](std::size_t i) {
        const Function& function = profile.functions[i];
        out.put("{");
        if (!function.source.empty()) {
            out.put("\"Source\":", json_string(function.source), ",");
        }
        if (!names[i].empty()) {
            out.put("\"Name\":", json_string(names[i]), ",");
        }
        if (function.line != 0) {
            out.put("\"Line\":", function.line, ",");
        }
        out.put("\"TotalDuration\":", function.total / unit);
        json_known(out, "Flags", function.flags);
        json_known(out, "Samples", function.samples);
        out.put("}");
    });
}

}  // namespace

Result<void> write_script_profiler_json(const Profile& profile, const Sink& sink) {
    Writer out{sink};
    out.put("{\"Version\":2,\n\"SessionStartTime\":", profile.start_unix_ms,
            ",\n\"SessionEndTime\":", profile.end_unix_ms);
    if (profile.memory) {
        out.put(",\n\"GCFuncId\":", profile.memory->value);
    }
    if (!profile.event.empty()) {
        out.put(",\n\"Event\":", json_string(profile.event));
    }
    if (!profile.is_time()) {
        out.put(",\n\"Unit\":", json_string(profile.metric.unit));
    }
    if (profile.is_net) {
        out.put(",\n\"Net\":1");
    }
    if (profile.scale != 1.0) {
        out.put(",\n\"Scale\":", scale_text(profile));
    }
    // Durations are microseconds; a count is written as it is.
    const std::uint64_t unit = profile.is_time() ? 1000 : 1;
    out.put(",\n\"Categories\":[");
    json_list(out, profile.categories.size(), "\n", ",\n", [&](std::size_t i) {
        const Category& category = profile.categories[i];
        out.put("{\"Name\":", json_string(category.name), ",\"NodeId\":", category.node.value, "}");
    });
    out.put("],\n\"Nodes\":[");
    write_nodes(out, profile, unit);
    out.put("],\n\"Functions\":[");
    write_functions(out, profile, unit);
    out.put("]}\n");
    return out.finish();
}

}  // namespace sample::exports

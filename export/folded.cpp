#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/text.h"
#include "export/formats.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Node;
using callgraph::Profile;

std::string escaped(std::string_view name) {
    std::string text = one_line(name);
    std::replace(text.begin(), text.end(), ';', ':');
    return text.empty() ? "<anonymous>" : text;
}

}  // namespace

Result<void> write_folded(const Profile& profile, const Sink& sink) {
    const std::uint64_t divisor = profile.is_time() ? 1000 : 1;
    std::vector<std::string> functions;
    for (const callgraph::Function& function : profile.functions) {
        functions.push_back(escaped(callgraph::label(function)));
    }
    std::unordered_map<std::uint32_t, std::string> categories;  // by node
    for (const callgraph::Category& category : profile.categories) {
        categories.emplace(category.node.value, escaped(category.name));
    }
    Writer out{sink};
    std::string line;
    std::vector<std::pair<NodeId, std::size_t>> path;  // node, and the line's length without it
    std::uint64_t sum_ns = 0;
    for (const NodeId id : callgraph::preorder(profile)) {
        const Node& node = profile.node(id);
        while (!path.empty() && path.back().first != node.parent) {
            line.resize(path.back().second);
            path.pop_back();
        }
        path.emplace_back(id, line.size());
        if (!line.empty()) {
            line += ';';
        }
        line += node.function.is_none() ? categories[id.value] : functions[node.function.value - 1];
        const std::uint64_t before_ns = sum_ns;
        sum_ns += node.self_ns;
        if (const std::uint64_t value = sum_ns / divisor - before_ns / divisor; value != 0) {
            out.put(line.empty() ? "<root>" : line, " ", value, "\n");
        }
        if (!out.is_good()) {
            break;
        }
    }
    return out.finish();
}

}  // namespace sample::exports

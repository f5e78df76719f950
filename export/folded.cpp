#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "core/text.h"
#include "export/formats.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Node;
using callgraph::Profile;

std::string escaped(std::string_view name) {
    std::string text = one_line(name);
    std::replace(text.begin(), text.end(), ';', ':');
    return is_blank(text) ? "<anonymous>" : text;
}

}  // namespace

Result<void> write_folded(const Profile& profile, const Sink& sink) {
    const std::uint64_t divisor = profile.is_time() ? 1000 : 1;
    std::vector<std::string> functions;
    for (const callgraph::Function& function : profile.functions) {
        functions.push_back(escaped(callgraph::label(function)));
    }
    const std::vector<const std::string*> categories = callgraph::category_names(profile);
    Writer out{sink};
    std::string line;
    std::vector<std::pair<NodeId, std::size_t>> path;  // node, and the line's length without it
    std::uint64_t sum = 0;
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
        if (!node.function.is_none()) {
            line += functions[node.function.value - 1];
        } else if (categories[id.value] != nullptr) {
            line += escaped(*categories[id.value]);
        }
        const std::uint64_t before = sum;
        sum += node.self;
        if (const std::uint64_t value = sum / divisor - before / divisor; value != 0) {
            out.put(line.empty() ? "<root>" : line, " ", value, "\n");
        }
        if (!out.is_good()) {
            break;
        }
    }
    return out.finish();
}

}  // namespace sample::exports

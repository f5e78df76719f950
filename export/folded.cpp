#include "export/folded.h"

#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "export/utf8.h"

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
    return text.empty() ? "<anonymous>" : text;
}

/// What each node adds to a line; empty for the root.
class Frames {
public:
    explicit Frames(const Profile& profile) : profile_{profile}, categories_(profile.nodes.size()) {
        for (const callgraph::Function& function : profile.functions) {
            functions_.push_back(escaped(callgraph::label(function)));
        }
        for (const callgraph::Category& category : profile.categories) {
            categories_[category.node.value] = &category.name;
        }
    }

    [[nodiscard]] std::string of(NodeId id) const {
        const FunctionId function = profile_.node(id).function;
        if (!function.is_none()) {
            return functions_[function.value - 1];
        }
        const std::string* category = categories_[id.value];
        return category == nullptr ? std::string{} : escaped(*category);
    }

private:
    const Profile& profile_;
    std::vector<std::string> functions_;
    std::vector<const std::string*> categories_;
};

}  // namespace

Result<void> write_folded(const Profile& profile, const Sink& sink, FoldedUnit unit) {
    const std::uint64_t divisor = profile.is_time() ? 1000 : 1;
    const Frames frames{profile};
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
        line += frames.of(id);
        const std::uint64_t before_ns = sum_ns;
        sum_ns += node.self_ns;
        const std::uint64_t value = unit == FoldedUnit::samples
                                        ? node.self_samples
                                        : sum_ns / divisor - before_ns / divisor;
        if (value != 0) {
            out.text(line.empty() ? "<root>" : line).text(" ").number(value).text("\n");
        }
        if (!out.is_good()) {
            break;
        }
    }
    return out.finish();
}

}  // namespace sample::exports

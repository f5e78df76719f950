#include "cli/views/text.h"

#include "callgraph/label.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sample::cli {
namespace {

/// " <inlined at line 22>": the line is its caller's.
std::string inlining_text(const callgraph::Node& node) {
    switch (node.inlining) {
        case callgraph::Inlining::none:
            return "";
        case callgraph::Inlining::some:
            return " <partly inlined>";
        case callgraph::Inlining::all:
            break;
    }
    return node.call_line == 0 ? " <inlined>"
                               : " <inlined at line " + std::to_string(node.call_line) + ">";
}

}  // namespace

std::string scale_text(double scale, const Terminal& terminal) {
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.4g", scale);
    return scale == 1.0 ? ""
                        : (terminal.utf8 ? "\u00d7" : "x") +
                              std::string{text.data(), static_cast<std::size_t>(size)};
}

std::string function_label(const callgraph::Function& function) {
    std::string label = printable(callgraph::label(function));
    if ((function.flags & callgraph::kNative) != 0) {
        label += " <native>";
    }
    if ((function.flags & callgraph::kPlugin) != 0) {
        label += " <plugin>";
    }
    return label;
}

std::string node_name(const callgraph::Profile& profile, NodeId id) {
    const callgraph::Node& node = profile.node(id);
    if (!node.function.is_none()) {
        return function_label(profile.function(node.function));
    }
    const auto category =
        std::find_if(profile.categories.begin(), profile.categories.end(),
                     [id](const callgraph::Category& c) { return c.node == id && id.value != 0; });
    return category == profile.categories.end() ? "<root>" : printable(category->name);
}

std::string node_label(const callgraph::Profile& profile, NodeId id) {
    const callgraph::Node& node = profile.node(id);
    std::string label = node_name(profile, id);
    if (node.line != 0) {
        label += ":" + std::to_string(node.line);
    }
    return label + inlining_text(node);
}

std::string location_text(const callgraph::Function& function, bool full) {
    std::string text =
        printable(full ? std::string_view{function.source} : file_name(function.source));
    if (!text.empty() && function.line != 0) {
        text.append(":").append(std::to_string(function.line));
    }
    return text;
}

}  // namespace sample::cli

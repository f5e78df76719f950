#include "callgraph/label.h"

namespace sample::callgraph {

namespace {

/// "run" for "pool::Worker::run": what follows the last "::" outside template arguments.
std::string_view without_scope(std::string_view name) {
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 1;) {
        if (name[i] == '>') {
            ++depth;
        } else if (name[i] == '<') {
            --depth;
        } else if (depth == 0 && name[i] == ':' && name[i - 1] == ':') {
            return name.substr(i + 1);
        }
    }
    return name;
}

}  // namespace

std::string label(const Function& function) {
    if (!function.name.empty()) {
        return function.name;
    }
    if (function.source.empty()) {
        return "<anonymous>";
    }
    if (function.line == 0) {
        return function.source;
    }
    return function.source + ":" + std::to_string(function.line);
}

bool is_named(const Function& function, std::string_view name) {
    const std::string label_text = label(function);
    const std::string_view whole = label_text;
    const std::string_view bare = whole.substr(0, whole.find('('));
    return whole == name || (!bare.empty() && (bare == name || without_scope(bare) == name));
}

}  // namespace sample::callgraph

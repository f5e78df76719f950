#include "callgraph/label.h"

namespace sample::callgraph {

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

}  // namespace sample::callgraph

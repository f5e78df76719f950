#include "export/code_kind.h"

namespace sample::exports {

namespace {

constexpr std::string_view kKernelModule = "[kernel]";
constexpr std::string_view kKernelPrefix = "[kernel";
constexpr std::string_view kWaitingPrefix = "[waiting";

/// Time that no code was seen for is shown as a function of no file, "[not sampled]".
bool is_pseudo(const callgraph::Function& function) {
    return function.source.empty() && function.name.size() > 2 && function.name.front() == '[' &&
           function.name.back() == ']';
}

}  // namespace

CodeKind kind_of(const callgraph::Profile& profile, FunctionId id) {
    if (profile.gc == id) {
        return CodeKind::memory;
    }
    const callgraph::Function& function = profile.function(id);
    if (function.source == kKernelModule || profile.module_of(function).path == kKernelModule) {
        return CodeKind::kernel;
    }
    if (is_pseudo(function)) {
        const std::string_view name = function.name;
        return name.starts_with(kWaitingPrefix)  ? CodeKind::waiting
               : name.starts_with(kKernelPrefix) ? CodeKind::kernel
                                                 : CodeKind::no_stack;
    }
    if ((function.flags & callgraph::kNative) != 0) {
        return CodeKind::jit;
    }
    return (function.flags & callgraph::kPlugin) != 0 ? CodeKind::plugin : CodeKind::code;
}

}  // namespace sample::exports

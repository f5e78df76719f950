// What formats ask of a function besides its figures: of what kind its code is, where it is, and a
// name that tells it from others.
#pragma once

#include "callgraph/profile.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

/// The kinds of code, for formats that colour by them or let one filter by them.
enum class CodeKind : std::uint8_t {
    code,      ///< A file's code, as far as it is none of the below.
    jit,       ///< Made at run time.
    plugin,    ///< Of a module brought by dlopen after the start, and what it calls.
    memory,    ///< The node of Profile::memory, and what lies below it.
    kernel,    ///< The kernel's code, or time in it without a stack.
    waiting,   ///< No code: the thread waited, and where is not known.
    no_stack,  ///< No code: time without a stack, and marks of stacks that lack frames.
};
inline constexpr std::size_t kCodeKinds = 7;

/// Each kind's name for people, by its number.
inline constexpr std::array<std::string_view, kCodeKinds> kCodeKindNames{
    "Code", "JIT", "Plug-in", "Memory management", "Kernel", "Waiting", "No stack"};

/// The kind of a function by itself. Who shows a tree passes memory on to what is below. O(1).
[[nodiscard]] CodeKind kind_of(const callgraph::Profile& profile, FunctionId id);

/// Function::source, unless that only repeats the module because no source is known: then empty.
[[nodiscard]] std::string_view source_file(const callgraph::Profile& profile,
                                           const callgraph::Function& function);

/// A module's path, or, where that is not known, its name.
[[nodiscard]] inline const std::string& module_file(const callgraph::CodeModule& module) {
    return module.path.empty() ? module.name : module.path;
}

/// Where a node's function is in Profile::functions; their number if it has none.
[[nodiscard]] inline std::size_t function_index(const callgraph::Profile& profile, NodeId node) {
    const FunctionId function = profile.node(node).function;
    return function.is_none() ? profile.functions.size() : function.value - 1;
}

/// What tells `function` from `other`, which is called the same: " [native]", " [plugin]", both, or
/// else " [module]"; empty if these are the same.
[[nodiscard]] std::string difference(const callgraph::Profile& profile,
                                     const callgraph::Function& function,
                                     const callgraph::Function& other);

/// Each function's label, [id - 1], for readers to whom two functions with the same name and source
/// file are one: of several with the same label and source file, all but the first are called
/// differently, by their difference(), else " (2)". O(functions).
[[nodiscard]] std::vector<std::string> unique_names(const callgraph::Profile& profile);

}  // namespace sample::exports

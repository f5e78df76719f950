// What kind of code a function is, for the formats that colour by it or let one filter by it.
#pragma once

#include "callgraph/profile.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace sample::exports {

enum class CodeKind : std::uint8_t {
    code,      ///< A file's code, as far as it is none of the below.
    jit,       ///< Made at run time.
    plugin,    ///< Of a module brought by dlopen after the start, and what it calls.
    memory,    ///< Memory management: the GC node, and what lies below it.
    kernel,    ///< The kernel's code, or time in it without a stack.
    waiting,   ///< No code: the thread waited, and where is not known.
    no_stack,  ///< No code: time without a stack, and marks of stacks that lack frames.
};
inline constexpr std::size_t kCodeKinds = 7;

/// Each kind's name for people, by its number.
inline constexpr std::array<std::string_view, kCodeKinds> kCodeKindNames{
    "Code", "JIT", "Plug-in", "GC: memory management", "Kernel", "Waiting", "No stack"};

/// The kind of a function by itself. Who shows a tree passes memory on to what is below. O(1).
[[nodiscard]] CodeKind kind_of(const callgraph::Profile& profile, FunctionId id);

}  // namespace sample::exports

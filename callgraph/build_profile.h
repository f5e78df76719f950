// From a recording's stacks of addresses to a Profile of functions.
//
// A function is a name, a source, a module and flags: the same function under other flags is
// another one. Address-level nodes whose paths name the same functions become one node. The rules
// are those of docs/format-json.md.
#pragma once

#include "callgraph/categories.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/symbol.h"

#include <vector>

namespace sample::callgraph {

/// What each of Recording::addresses() is called, by the same index. Entries of pseudo modules are
/// not looked at. May be shorter: what is missing is shown as "module+0xoffset".
using SymbolTable = std::vector<Symbol>;

struct BuildOptions {
    CategoryBy category = CategoryBy::thread;
};

/// The sum of the categories' totals is the sum of all weights. O(nodes of the recording ×
/// categories that reach them); no recursion, so a stack may be as deep as memory allows.
[[nodiscard]] Profile build_profile(const Recording& recording, const SymbolTable& symbols,
                                    const BuildOptions& options = {});

}  // namespace sample::callgraph

// Which function `sample annotate` is asked for, and at which of a recording's addresses it is at
// work.
#pragma once

#include "callgraph/function_table.h"
#include "callgraph/key_weights.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/result.h"
#include "core/symbols.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::analysis {

struct AnnotatedFunction {
    FunctionId id;
    callgraph::Function function;
    std::string module;  ///< The file's name; empty: it is no code.
    callgraph::KeyWeight weight;
    /// The other functions of that name, the heaviest first.
    std::vector<std::string> others;
};

/// Of the functions that `name` names, by the rules of callgraph::focus(), the one with most time
/// of its own. `table` has been asked for every frame when this returns. Errors: not_found.
[[nodiscard]] Result<AnnotatedFunction> find_annotated(const callgraph::Recording& recording,
                                                       callgraph::FunctionTable& table,
                                                       std::string_view name);

/// Whether `symbol`, of code in the module of that path, is `function` of the module
/// called so.
[[nodiscard]] bool is_same_function(const callgraph::Function& function, std::string_view module,
                                    const FunctionSymbol& symbol, std::string_view module_path);

}  // namespace sample::analysis

// What a function's source is, for formats that tell source files from modules.
#pragma once

#include "callgraph/profile.h"

#include <string_view>

namespace sample::exports {

/// Function::source, unless that only repeats the module because no source is known: then empty.
[[nodiscard]] inline std::string_view source_file(const callgraph::Profile& profile,
                                                  const callgraph::Function& function) {
    const bool is_module = function.source == profile.module_of(function).name;
    return is_module ? std::string_view{} : std::string_view{function.source};
}

}  // namespace sample::exports

// The names of all addresses of a recording.
#pragma once

#include "callgraph/recording.h"
#include "core/symbols.h"

#include <string>
#include <vector>

namespace sample::cli {

struct RecordingSymbols {
    Symbols symbols;                    ///< By index into Recording::addresses().
    std::vector<std::string> problems;  ///< One line a module whose names are missing or poor.
};

/// Symbolizes module by module, the ones with most addresses first, two at a time.
[[nodiscard]] RecordingSymbols symbolize_recording(const callgraph::Recording& recording);

}  // namespace sample::cli

// The names of all addresses of a recording.
#pragma once

#include "callgraph/recording.h"
#include "core/symbols.h"
#include "symbolize/symbolizer.h"

#include <map>
#include <string>
#include <vector>

namespace sample::cli {

/// As collector::Session::module_files() gives them.
using ModuleFiles = std::map<ModuleId, std::string>;

/// Where a module can be read, by its recorded path or another one that `files` knows.
[[nodiscard]] symbolize::ModuleFile module_file(const trace::Module& module,
                                                const ModuleFiles& files);

struct RecordingSymbols {
    Symbols symbols;                    ///< By index into Recording::addresses().
    std::vector<std::string> problems;  ///< One line a module whose names are missing or poor.
};

/// Symbolizes module by module, the ones with most addresses first, two at a time.
/// `files`: under which path else a module can be read.
[[nodiscard]] RecordingSymbols symbolize_recording(const callgraph::Recording& recording,
                                                   const ModuleFiles& files = {});

}  // namespace sample::cli

// The modules of this process, for whoever walks its stacks and may allocate: tests, benchmarks,
// tools. (The agent keeps its own list, see sampler/.)
#pragma once

#include "unwind/walk/module_table.h"

#include <vector>

namespace sample::unwind {

/// What dl_iterate_phdr lists now, ready for a ModuleTable; with an index where one is needed,
/// which is kept for good. Takes the loader's lock. Not async-signal-safe. Thread-safe.
[[nodiscard]] std::vector<Module> loaded_modules();

}  // namespace sample::unwind

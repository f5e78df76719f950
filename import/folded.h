// Folded stacks: a line a stack, `root;…;leaf count`, as flame-graph scripts write and read them.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <cstdint>
#include <string_view>

namespace sample::imports {

/// What the first frame of each line is; the format does not say.
enum class FirstFrame : std::uint8_t { function, thread };

/// Counts are what the unit is: the file does not say what was counted, nor how many samples there
/// were. Marks that some scripts put behind names are understood: `_[i]` inlined, `_[j]` made at
/// run time, `_[k]` of the kernel. Errors: corrupt, with the line: no count, or one that is no
/// whole number of 64 bits; counts whose sum overflows.
[[nodiscard]] Result<callgraph::Profile> read_folded(std::string_view text, FirstFrame first,
                                                     const Options& options);

}  // namespace sample::imports

// The script-profiler JSON, version 2, into a Profile; export/script_profiler_json.h writes it.
// docs/format-json.md has the format and what is refused.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"

#include <string_view>

namespace sample::imports {

/// Reads a whole document. Node and function ids stay as they are, unless nodes that no category
/// leads to had to be left out. Unknown fields are skipped. Errors are `corrupt`, or `unsupported`
/// for another version, and name the place ("node 4: …", ids 1-based): malformed JSON, wrong types,
/// missing fields, ids out of range, arrays of different lengths, a node with two parents, cycles,
/// two children of one node for one function, durations that overflow 64-bit nanoseconds. A node
/// with less time than its children is raised to their sum, and a note in `stats` says so.
/// O(text); no recursion, so trees may be as deep as memory allows.
[[nodiscard]] Result<callgraph::Profile> read_script_profiler_json(std::string_view text);

}  // namespace sample::imports

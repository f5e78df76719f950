// The script-profiler JSON, version 2: written from a Profile and read back into one.
// docs/format-json.md has the format, how a native program maps to it, and the limits.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

#include <string_view>

namespace sample::exports {

/// Writes `profile`, durations floored to microseconds; counts, in a profile of an event, as they
/// are, with its name and unit in fields of ours. Two different functions that would share
/// (Source, Name, Line) under one node get different names, because known readers use that as a
/// key. Bytes that are not UTF-8 become U+FFFD. The sink's error if it fails. O(nodes + functions);
/// no recursion.
[[nodiscard]] Result<void> write_script_profiler_json(const callgraph::Profile& profile,
                                                      const Sink& sink);

/// Reads a whole document. Node and function ids stay as they are, unless nodes that no category
/// leads to had to be left out. Unknown fields are skipped. Errors are `corrupt`, or `unsupported`
/// for another version, and name the place ("node 4: …", ids 1-based): malformed JSON, wrong types,
/// missing fields, ids out of range, arrays of different lengths, a node with two parents, cycles,
/// two children of one node for one function, durations that overflow 64-bit nanoseconds. A node
/// with less time than its children is raised to their sum, and a note in `truth` says so.
/// O(text); no recursion, so trees may be as deep as memory allows.
[[nodiscard]] Result<callgraph::Profile> read_script_profiler_json(std::string_view text);

}  // namespace sample::exports

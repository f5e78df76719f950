// The script-profiler JSON, version 1: nodes inside of each other, named by what they run.
//
//     {"Version":1,"Children":{"game.lua,update,12":{"TotalDuration":2530,"Children":{…}}}}
//
// A key is `source,name,line`; a source may have commas. Durations are microseconds.
// Source: nodeFromJSONV1 in tools/perfgraph.py of Luau, the format's one public reader.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <string_view>

namespace sample::imports {

/// Everything is below one category: the version has none. A node with less time than its children
/// is raised to their sum, and a note counts those. SessionStartTime and SessionEndTime are read as
/// in version 2. Errors: corrupt, with the path to the node: malformed JSON, a key that has not
/// three parts, one that comes twice, a duration that is missing, negative or too long.
/// No recursion, however deep the nodes are.
[[nodiscard]] Result<callgraph::Profile> read_script_profiler_tree(std::string_view text,
                                                                   const Options& options);

}  // namespace sample::imports

// speedscope's own file format, its sampled and its evented profiles.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/options.h"

#include <string_view>

namespace sample::imports {

/// Every profile of the file is a thread, and its name the category; "NAME (pid 1, tid 2)" gives
/// the ids. Weights are nanoseconds where the unit is one of time, and then the file's times are
/// kept, too: samples follow each other without gaps, a sample without frames is a gap, evented
/// profiles have times but no samples. Only profiles with the unit of the active one are kept, and
/// a note counts the others. Errors: corrupt, with the place (profiles[0].events[7]): malformed
/// JSON, a wrong type, a missing field, a frame that is not there, weights that are not as many as
/// samples, negative weights, an event before the one it follows, an end of a frame that is not the
/// innermost, a frame without its end; weights whose sum overflows.
/// Source: https://www.speedscope.app/file-format-schema.json.
[[nodiscard]] Result<callgraph::Profile> read_speedscope(std::string_view text,
                                                         const Options& options);

}  // namespace sample::imports

// From a .utrace file to a Recording.
#pragma once

#include "callgraph/recording.h"
#include "core/result.h"

#include <string>

namespace sample::callgraph {

/// Reads a recording. One that was cut off or damaged is read as far as it goes, and its problem()
/// says where it ends. Errors: the file cannot be opened, is empty, is no recording, or was made by
/// a newer version; the text names the file. O(samples); memory: see Recording.
[[nodiscard]] Result<Recording> load_recording(const std::string& path);

}  // namespace sample::callgraph

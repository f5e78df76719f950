// From a .utrace file to a Recording.
#pragma once

#include "callgraph/recording.h"
#include "core/mapped_file.h"
#include "core/result.h"

#include <cstdint>
#include <string>

namespace sample::callgraph {

/// Whether samples keep when they were taken: Recording::keep_times().
enum class Times : std::uint8_t { dropped, kept };

/// Reads a recording. One that was cut off or damaged is read as far as it goes, and its problem()
/// says where it ends. Errors: the file cannot be opened, is empty, is no recording, or was made by
/// a newer version; the text names the file. O(samples); memory: see Recording.
[[nodiscard]] Result<Recording> load_recording(const std::string& path,
                                               Times times = Times::dropped);
/// The same of a file that is open; errors call it `name`. What is read is handed to `also`, too,
/// unless that is nullptr.
[[nodiscard]] Result<Recording> load_recording(const MappedFile& file, const std::string& name,
                                               Times times, trace::RecordSink* also = nullptr);

}  // namespace sample::callgraph

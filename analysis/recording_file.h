// A file that somebody named: opened, told apart by its content, and, if it is a recording, looked
// at again for what the first look had no room for.
#pragma once

#include "analysis/instrumentation/label_samples.h"
#include "callgraph/recording.h"
#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::analysis {

enum class FileKind : std::uint8_t { empty, recording, foreign };

[[nodiscard]] FileKind kind_of(std::string_view content);

[[nodiscard]] std::string_view content_of(const MappedFile& file);

/// What errors call what comes from `path`.
[[nodiscard]] std::string name_of(const std::string& path);

/// Opens `path` ("-": standard input, to its end). Errors: not_found, invalid_argument (a folder, a
/// terminal), permission, corrupt (it holds the beginning of a recording alone), system: what to do
/// is said in the words of somebody who wants a recording.
[[nodiscard]] Result<MappedFile> open_any(const std::string& path);

/// The same for what must be a recording, of which alone there are `things`. Errors: also corrupt
/// (it is empty), unsupported (something else).
[[nodiscard]] Result<MappedFile> open_recording(const std::string& path,
                                                const MappedReading& reading,
                                                std::string_view things);

[[nodiscard]] Unexpected nothing_recorded(const std::string& path);

/// Another look at the recording, which may be done several times while `file` is there.
[[nodiscard]] ReadAgain read_again(const MappedFile& file);

/// That of this name; empty: the session's own. Errors: not_found, with the names that there are.
[[nodiscard]] Result<MetricId> find_metric(const callgraph::Recording& recording,
                                           const std::string& name, const std::string& path);

}  // namespace sample::analysis

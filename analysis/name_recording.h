// What follows a session: the recording is read back, named, and given its names to carry.
#pragma once

#include "analysis/symbolize_recording.h"
#include "callgraph/load_recording.h"
#include "callgraph/recording.h"
#include "core/result.h"

#include <string>

namespace sample::analysis {

struct NamedRecording {
    callgraph::Recording recording;
    RecordingSymbols symbols;
    NamingOptions how;  ///< Without the cache.
};

/// Reads `file`, a recording that was just written, and names its addresses. Errors: those of
/// load_recording_file().
[[nodiscard]] Result<NamedRecording> name_recording(const std::string& file,
                                                    const NamingOptions& options,
                                                    callgraph::Times times);

/// Adds the names to `file`, and the hottest code and its sources if `with_code`, so that it can be
/// read on another machine. Errors say that they are missing in it; the recording is as it was.
[[nodiscard]] Result<void> keep_names(const std::string& file, const NamedRecording& named,
                                      bool with_code);

}  // namespace sample::analysis

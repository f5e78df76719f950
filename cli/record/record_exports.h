// What --export asks of a recording that was just made.
#pragma once

#include "analysis/name_recording.h"
#include "callgraph/load_recording.h"
#include "cli/options/record.h"
#include "core/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace sample::cli {

/// Fills the patterns in the exports' paths in, by the command that `executable` and `pid` are of,
/// and checks what must be right before it starts: the files may be made, and none is another's or
/// `recording`, the recording's file. Errors end with what to do.
[[nodiscard]] Result<void> name_exports(RecordOptions& options, const std::string& executable,
                                        pid_t pid, const std::string& recording);

/// Whether any of the formats shows when samples were taken.
[[nodiscard]] callgraph::Times times_wanted(const std::vector<ExportRequest>& exports);

/// Writes every export that it can, after name_exports(); returns why the others could not be
/// written.
[[nodiscard]] std::vector<Error> write_exports(const RecordOptions& options,
                                               const analysis::NamedRecording& named);

}  // namespace sample::cli

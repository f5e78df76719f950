// What --export asks of a recording that was just made.
#pragma once

#include "callgraph/load_recording.h"
#include "cli/name_recording.h"
#include "cli/record_options.h"
#include "core/result.h"

#include <sys/types.h>

#include <vector>

namespace sample::cli {

/// What must be right before the command starts: the files may be made. Errors end with what to do.
[[nodiscard]] Result<void> check_exports(const RecordOptions& options, pid_t pid);

/// Whether any of the formats shows when samples were taken.
[[nodiscard]] callgraph::Times times_wanted(const std::vector<ExportRequest>& exports);

/// Writes every export that it can; returns why the others could not be written.
[[nodiscard]] std::vector<Error> write_exports(const RecordOptions& options, pid_t pid,
                                               const NamedRecording& named);

}  // namespace sample::cli

// A Profile in one of the export formats, into a file that is either whole or not there, or onto
// standard output.
#pragma once

#include "analysis/export_format.h"
#include "callgraph/profile.h"
#include "core/result.h"

#include <string>

namespace sample::cli {

/// Writes `profile` to `path` (mode 0600), whole or not at all, a piece at a time; see
/// write_file_atomically(). Errors: already_exists unless `force`; system, naming the path; what
/// the format cannot hold.
[[nodiscard]] Result<void> write_export(const callgraph::Profile& profile,
                                        const analysis::ExportFormat& format,
                                        const std::string& path, bool force);

/// The same to standard output. A reader that has closed the pipe is no error.
[[nodiscard]] Result<void> write_export_to_stdout(const callgraph::Profile& profile,
                                                  const analysis::ExportFormat& format);

}  // namespace sample::cli

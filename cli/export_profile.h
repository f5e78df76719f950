// A Profile as one of the export formats, in memory or in a file that is either whole or not there.
#pragma once

#include "callgraph/profile.h"
#include "cli/export_format.h"
#include "core/result.h"

#include <string>

namespace sample::cli {

/// `profile` in `format`.
[[nodiscard]] Result<std::string> render_export(const callgraph::Profile& profile,
                                                ExportFormat format);

/// Writes `profile` to `path` (mode 0600), whole or not at all; see write_file_atomically().
/// Errors: already_exists unless `force`; system, naming the path.
[[nodiscard]] Result<void> write_export(const callgraph::Profile& profile, ExportFormat format,
                                        const std::string& path, bool force);

}  // namespace sample::cli

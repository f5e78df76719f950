// The functions of a profile as comma-separated values, for spreadsheets and scripts.
//
// docs/format-csv.md lists the columns. Source: RFC 4180.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// A header and a line for each function, by self time, as the functions view has them. Text is
/// always quoted and UTF-8; one that a spreadsheet might take for a formula, and one that begins
/// with an apostrophe, gets an apostrophe in front. The sink's error if it fails.
/// O(functions log functions).
[[nodiscard]] Result<void> write_csv(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

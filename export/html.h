// One self-contained HTML page with the profile in it: a flame graph and a table of functions.
// docs/format-html.md. The page itself is in export/html/.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// Writes the page. What comes from the profile is in it as base64 only, so no name can be taken
/// for markup; the page shows it as text. Bytes that are not UTF-8 become U+FFFD. The sink's error
/// if it fails. O(output); no recursion.
[[nodiscard]] Result<void> write_html(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

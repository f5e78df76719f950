// The data block of the HTML page, which export/html/profile.js reads: base64 of gzip of
//
//     header          a text: JSON, export/html_header.h
//     texts           the sources, then the functions' names
//     functions       columns: source (1-based, 0: none), line, module, kind, total, self, samples,
//                     self samples
//     nodes           in preorder, columns: up, function (1-based, 0: none), self, self samples,
//                     line, line of the call, inlining
//
// A text is its length in bytes and UTF-8; every number is a varint. `up` says how many levels the
// node's parent is above the node before, which for a first child is none: with the order this is
// the whole tree. Totals follow from the selves.
#pragma once

#include "callgraph/profile.h"
#include "export/writer.h"

namespace sample::exports {

/// Writes the block, in lines of base64. An error of zlib; that of the sink stays with `out`.
[[nodiscard]] Result<void> write_html_data(const callgraph::Profile& profile, Writer& out);

}  // namespace sample::exports

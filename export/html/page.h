// The parts of the HTML page.
#pragma once

#include "callgraph/profile.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports::html {

/// The whole page, made at build time of the files in export/html/, with "@DATA@" where its data
/// belong.
[[nodiscard]] std::string_view page();

/// What the page says above and around the graph, as JSON: the recording's facts, modules,
/// categories, and how many rows the columns behind it have. `order` has the nodes in preorder,
/// `sources` is how many source files there are. O(modules + categories + nodes).
[[nodiscard]] std::string header(const callgraph::Profile& profile,
                                 const std::vector<NodeId>& order, std::size_t sources);

}  // namespace sample::exports::html

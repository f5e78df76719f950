// What the HTML page says above and around the graph, as JSON: the recording's facts, modules,
// categories, and how many rows the columns behind it have.
#pragma once

#include "callgraph/profile.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sample::exports {

/// `order` has the nodes in preorder, `sources` is how many source files there are. O(modules +
/// categories + nodes).
[[nodiscard]] std::string html_header(const callgraph::Profile& profile,
                                      const std::vector<NodeId>& order, std::size_t sources);

}  // namespace sample::exports

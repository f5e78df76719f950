// From a recording's stacks of addresses to a Profile of functions.
//
// A function is a name, a source and a module. Address-level nodes whose paths name the same
// functions become one node; an address in inlined code is several functions, one below the other.
// The rules are those of docs/format-json.md.
#pragma once

#include "callgraph/categories.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/symbols.h"

#include <optional>
#include <span>

namespace sample::callgraph {

struct BuildOptions {
    CategoryBy category = CategoryBy::thread;
    /// Inlined frames are no nodes: their time is their outermost caller's own.
    bool fold_inlined = false;
    /// A node Profile::memory above each entry into memory management.
    bool group_memory = false;
    /// A node for each line of a function, not only for each function: Node::line.
    bool by_line = false;
    /// What the profile's figures are of: one of recording.metrics().
    MetricId metric = trace::kSessionMetric;
    /// All other metrics, too: Profile::further.
    bool further = false;
    /// What the tree is of, instead of the recording's weights of `metric`: others of its threads
    /// and stacks. Stats stay the recording's. No further metrics then.
    std::optional<std::span<const StackWeight>> weights = {};
    /// Stacks that come when there are so many are cut short, and a note says how many.
    std::size_t most_nodes = kMostNodes;
};

/// `symbols` says what each of Recording::addresses() is called, by the same index; pseudo modules'
/// are not looked at, and what was not looked up is shown as "module+0xoffset". The sum of the
/// categories' totals is the sum of all weights of the metric. O(nodes of the recording ×
/// categories that reach them); no recursion, so a stack may be as deep as memory allows.
[[nodiscard]] Profile build_profile(const Recording& recording, const Symbols& symbols,
                                    const BuildOptions& options = {});

}  // namespace sample::callgraph

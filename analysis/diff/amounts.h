// What each node and function of one profile took, with what the noise of sampling depends on.
#pragma once

#include "analysis/diff/diff.h"
#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::analysis {

void add_amount(Amount& to, const Amount& amount) noexcept;

struct NodeAmounts {
    std::vector<NodeId> order;   ///< Every node, parents before children.
    std::vector<Amount> self;    ///< By a NodeId's value.
    std::vector<Amount> totals;  ///< The same.
};

/// Amounts are multiplied by `scale`. O(nodes + samples).
[[nodiscard]] NodeAmounts node_amounts(const callgraph::Profile& profile, double scale);

struct FunctionAmounts {
    std::vector<Amount> self;
    std::vector<Amount> totals;  ///< Recursion counted once.
};

/// `number_of`, by FunctionId - 1, says which of `count` functions a function is counted as.
[[nodiscard]] FunctionAmounts function_amounts(const callgraph::Profile& profile,
                                               const NodeAmounts& nodes,
                                               std::span<const std::uint32_t> number_of,
                                               std::size_t count);

}  // namespace sample::analysis

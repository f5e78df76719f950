// For formats whose numbers end below 2^64: a total that does not fit is an error, and no other
// number.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::exports {

/// Errors: unsupported if the profile's total is above `most`, with what to do.
[[nodiscard]] inline Result<void> check_total(const callgraph::Profile& profile, std::uint64_t most,
                                              std::string_view format) {
    if (profile.nodes.empty() || profile.nodes[0].total_ns <= most) {
        return {};
    }
    return unexpected(ErrorCode::unsupported, std::string{format} + " holds no totals above " +
                                                  std::to_string(most) +
                                                  ": choose another export format");
}

}  // namespace sample::exports

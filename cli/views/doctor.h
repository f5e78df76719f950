// The doctor's findings as text and as JSON.
#pragma once

#include "cli/views/terminal.h"
#include "sampler/source/capabilities.h"

#include <cstdint>
#include <string>

namespace sample::cli {

/// The cache of names; an empty folder: there is none.
struct NameCacheState {
    std::string folder;
    bool is_used = false;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

[[nodiscard]] std::string doctor_view(const source::Capabilities& capabilities,
                                      const NameCacheState& names, const Terminal& terminal);
[[nodiscard]] std::string doctor_json(const source::Capabilities& capabilities,
                                      const NameCacheState& names);

}  // namespace sample::cli

// The doctor's findings as text and as JSON.
#pragma once

#include "cli/terminal.h"
#include "sampler/source/capabilities.h"

#include <string>

namespace sample::cli {

[[nodiscard]] std::string doctor_view(const sampler::Capabilities& capabilities,
                                      const Terminal& terminal);
[[nodiscard]] std::string doctor_json(const sampler::Capabilities& capabilities);

}  // namespace sample::cli

// Where libsample.so is: beside the program, or in the library folder of the same prefix.
#pragma once

#include "core/result.h"

#include <string>

namespace sample::cli {

/// Errors: not_found, with the places that were looked at.
[[nodiscard]] Result<std::string> find_agent_library();

}  // namespace sample::cli

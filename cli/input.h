// Which file a verb reads where its user names none.
#pragma once

#include "core/result.h"

#include <string>

namespace sample::cli {

/// `named`; where that is empty the recording of the current folder (*.utrace) that was written
/// last, and a line on standard error says which.
/// Errors: not_found, if there is none; system, if the folder can't be read.
[[nodiscard]] Result<std::string> named_or_newest(const std::string& named);

}  // namespace sample::cli

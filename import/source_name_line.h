// A function as `source,name,line`, as Luau's tools write it.
#pragma once

#include "import/profile_maker.h"

#include <optional>
#include <string_view>

namespace sample::imports {

/// Name and line may be empty; a source may have commas. None if there are not three parts, or the
/// line is no number of 32 bits. The views are into `text`.
[[nodiscard]] std::optional<FunctionKey> source_name_line(std::string_view text);

}  // namespace sample::imports

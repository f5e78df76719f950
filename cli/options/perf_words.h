// Words that perf's users type out of habit, and what they are called here.
#pragma once

#include "core/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

/// Of a line that `verb` has refused: which of its options are perf's, what stands for each, and
/// the line to type, as a hint behind "\nTry: ". None: no word of it is perf's.
[[nodiscard]] std::optional<Error> explain_perf_options(std::string_view verb,
                                                        std::vector<std::string> words);

/// What there is instead of a verb of perf's that `sample` lacks; empty: it is none.
[[nodiscard]] std::string_view instead_of_perf_verb(std::string_view verb);

}  // namespace sample::cli

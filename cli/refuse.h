// Errors whose text is a sentence with names in it.
#pragma once

#include "core/result.h"

#include <fmt/format.h>

#include <utility>

namespace sample::cli {

/// What the user has asked for cannot be: `text`, as fmt fills it, says what can.
template <class... Arguments>
[[nodiscard]] Unexpected refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    return unexpected(ErrorCode::invalid_argument,
                      fmt::format(text, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
[[nodiscard]] Unexpected refuse(ErrorCode code, fmt::format_string<Arguments...> text,
                                Arguments&&... arguments) {
    return unexpected(code, fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace sample::cli

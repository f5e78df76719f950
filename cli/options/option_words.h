// Options whose value is one of a few words, and other values that verbs share.
#pragma once

#include "cli/views/terminal.h"
#include "core/result.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sample::cli {

template <class T, std::size_t N>
using Words = std::array<std::pair<std::string_view, T>, N>;

/// The value that `text` names in `words`. Errors: invalid_argument, listing the words.
template <class T, std::size_t N>
[[nodiscard]] Result<T> parse_word(std::string_view option, std::string_view text,
                                   const Words<T, N>& words) {
    std::string list;
    for (const auto& [word, value] : words) {
        if (word == text) {
            return value;
        }
        list += list.empty() ? "" : ", ";
        list += word;
    }
    std::string message{option};
    message += " cannot be '";
    message += text;
    message += "': choose one of " + list;
    return unexpected(ErrorCode::invalid_argument, std::move(message));
}

[[nodiscard]] inline Result<ColorMode> parse_color(std::string_view text) {
    static constexpr Words<ColorMode, 3> kWords = {{{"auto", ColorMode::automatic},
                                                    {"always", ColorMode::always},
                                                    {"never", ColorMode::never}}};
    return parse_word("--color", text, kWords);
}

}  // namespace sample::cli

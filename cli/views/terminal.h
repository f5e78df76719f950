// What the stream that a report goes to can show: colours, width, box-drawing characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sample::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

/// Plain values, so that tests and other writers can make one up.
struct Terminal {
    bool color = false;     ///< Escape sequences may be written.
    bool utf8 = false;      ///< Rails and ellipses may be more than ASCII.
    std::size_t width = 0;  ///< Columns; 0: no terminal, never shorten.
};

/// Looks at descriptor `fd`, the locale (LC_ALL, LC_CTYPE, LANG), NO_COLOR, TERM and COLUMNS.
/// NO_COLOR and TERM=dumb hold for ColorMode::automatic only: --color=always is the user's word.
[[nodiscard]] Terminal detect_terminal(int fd, ColorMode mode);

enum class Style : std::uint8_t { plain, bold, dim, heavy, warm, warning, good };

/// `text` in a style, or as it stands where the terminal shows no colours.
[[nodiscard]] std::string styled(const Terminal& terminal, Style style, std::string_view text);

}  // namespace sample::cli

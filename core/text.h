// Text from files that anybody may have made, and figures as people read them.
//
// Durations are floored to the unit's last digit shown, so that a child never exceeds its parent.
// Widths count code points, which is right for all that usually stands in a symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sample {

/// `text`, each byte that is not part of a character in UTF-8 replaced by U+FFFD. O(bytes).
[[nodiscard]] std::string to_utf8(std::string_view text);

/// The same with a space for each control character, so that it stays on its line, and what else is
/// not seen or turns text around escaped as by printable().
[[nodiscard]] std::string one_line(std::string_view text);
/// Nothing, or nothing but blanks and control characters.
[[nodiscard]] bool is_blank(std::string_view text) noexcept;

/// The part of a path behind its last '/'. Async-signal-safe.
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) noexcept {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// What the kernel appends to the path of a mapped file that is gone.
inline constexpr std::string_view kDeleted = " (deleted)";
[[nodiscard]] constexpr std::string_view without_deleted(std::string_view path) noexcept {
    return path.substr(0, path.size() - (path.ends_with(kDeleted) ? kDeleted.size() : 0));
}

/// "32,140".
[[nodiscard]] std::string grouped(std::uint64_t number);
/// "1 thread", "2,000 threads", "2 processes".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// Two lower-case digits a byte: how build-ids are written.
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);

/// "1234.567": milliseconds with three digits, floored.
[[nodiscard]] std::string milliseconds(std::uint64_t ns);
/// "3.214 s", "12.345 ms", "640 us": the unit that suits, floored.
[[nodiscard]] std::string short_duration(std::uint64_t ns);
/// "01:02:03.004".
[[nodiscard]] std::string session_length(std::uint64_t ms);
/// "12.50": so many digits behind the point, rounded, and no "-0"; "+12.50" if `sign`.
[[nodiscard]] std::string decimal(double value, int digits, bool sign = false);
/// 100 * part / whole; 0 of nothing is 0.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t whole) noexcept;
/// "12.3 %", and "<0.1 %" for a little more than nothing.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);
/// `text` with everything a terminal would obey or not show, and broken UTF-8, escaped: "\n",
/// "\x1b", "\u202e". A blank is one.
[[nodiscard]] std::string printable(std::string_view text);
/// `text` as one word of a command that people type into a shell: as it is, or quoted. Printable,
/// too: bash's $'...' takes the escapes back.
[[nodiscard]] std::string shell_word(std::string_view text);
/// Code points.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);

}  // namespace sample

// Numbers and names as people read them.
//
// Durations are floored to the unit's last digit shown, so that a child never exceeds its parent.
// Widths count code points, which is right for all that usually stands in a symbol. Names come from
// foreign files: whatever a terminal would obey (control characters) is shown escaped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sample {

/// "1234.567": milliseconds with three digits, floored.
[[nodiscard]] std::string milliseconds(std::uint64_t ns);
/// "3.214 s", "12.345 ms", "640 us": the unit that suits, floored.
[[nodiscard]] std::string short_duration(std::uint64_t ns);
/// "01:02:03.004".
[[nodiscard]] std::string session_length(std::uint64_t ms);
/// "12.50": so many digits behind the point, rounded, and no "-0"; "+12.50" if `sign`.
[[nodiscard]] std::string decimal(double value, int digits, bool sign = false);
/// "32,140".
[[nodiscard]] std::string grouped(std::uint64_t number);
/// 100 * part / whole; 0 of nothing is 0.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t whole) noexcept;
/// "12.3 %", and "<0.1 %" for a little more than nothing.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);
/// "1 thread", "2 threads".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// `text` with everything a terminal would obey, and broken UTF-8, escaped: "\n", "\x1b",
/// "\u202e".
[[nodiscard]] std::string printable(std::string_view text);
/// Code points.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
/// The part behind the last '/'.
[[nodiscard]] std::string_view file_name(std::string_view path) noexcept;

}  // namespace sample

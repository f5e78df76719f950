// Lines of a text that anybody may have written, and the numbers in them.
#pragma once

#include "core/result.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sample::imports {

/// `text` without the byte order mark of UTF-8 before it.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// The lines of a text, without what ends them: LF, or CR LF.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_{without_byte_order_mark(text)} {}

    /// False behind the last line.
    bool next(std::string_view& line);
    /// The line that next() will give; empty behind the last.
    [[nodiscard]] std::string_view peek() const;
    /// An error of the line that next() gave; the first is 1.
    [[nodiscard]] Unexpected wrong(std::string_view what) const;

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

inline constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

/// All of `text` as a decimal number; none for anything else, also one of more bits.
template <class Number = std::uint64_t>
[[nodiscard]] std::optional<Number> to_number(std::string_view text) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stopped == end ? std::optional{value} : std::nullopt;
}

/// Nanoseconds in a unit of time; none for what is none. Source: measurement.go of pprof.
[[nodiscard]] std::optional<std::uint64_t> nanoseconds_in(std::string_view unit);

[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_space(char c) {
    return c == ' ' || c == '\t';
}
/// Spaces and tabs at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// A place for a message: "events[7]" for "events[" and 7; "node 8" for "node " and 7.
[[nodiscard]] std::string numbered(std::string_view place, std::size_t index);

/// At most the beginning of `text`, for a message; control characters become '?'.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace sample::imports

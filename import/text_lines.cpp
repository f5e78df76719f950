#include "import/text_lines.h"

#include <algorithm>
#include <array>

namespace sample::imports {

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

bool Lines::next(std::string_view& line) {
    if (rest_.empty()) {
        return false;
    }
    ++number_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    return true;
}

std::string_view Lines::peek() const {
    Lines ahead = *this;
    std::string_view line;
    return ahead.next(line) ? line : std::string_view{};
}

Unexpected Lines::wrong(std::string_view what) const {
    return unexpected(ErrorCode::corrupt, numbered("line ", number_ - 1).append(": ").append(what));
}

std::optional<std::uint64_t> nanoseconds_in(std::string_view unit) {
    struct Unit {
        std::string_view name;
        std::string_view abbreviation;
        std::uint64_t nanoseconds;
    };
    constexpr std::array kUnits{
        Unit{"nanosecond", "ns", 1},
        Unit{"microsecond", "us", 1000},
        Unit{"millisecond", "ms", 1'000'000},
        Unit{"second", "s", 1'000'000'000},
    };
    const std::string_view singular = unit.substr(0, unit.size() - (unit.ends_with("ds") ? 1 : 0));
    for (const auto& [name, abbreviation, nanoseconds] : kUnits) {
        if (singular == name || unit == abbreviation) {
            return nanoseconds;
        }
    }
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpaces = " \t";
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::string numbered(std::string_view place, std::size_t index) {
    const bool is_index = place.ends_with('[');
    return std::string{place}
        .append(std::to_string(index + (is_index ? 0 : 1)))
        .append(is_index ? "]" : "");
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t kMost = 60;
    constexpr unsigned char kDelete = 0x7f;
    std::string result{"\""};
    for (const char c : text.substr(0, kMost)) {
        const auto byte = static_cast<unsigned char>(c);
        result += byte < ' ' || byte >= kDelete ? '?' : c;
    }
    return result.append(text.size() > kMost ? "…\"" : "\"");
}

}  // namespace sample::imports

#include "import/text_lines.h"

#include <charconv>

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
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return true;
}

Unexpected Lines::wrong(std::string_view what) const {
    return unexpected(
        ErrorCode::corrupt,
        std::string{"line "}.append(std::to_string(number_)).append(": ").append(what));
}

std::optional<std::uint64_t> to_number(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stopped == end ? std::optional{value} : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
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

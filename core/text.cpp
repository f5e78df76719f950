#include "core/text.h"

#include "core/units.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>

namespace sample {
namespace {

/// `value` / 1000 with three digits behind the point.
std::string thousandths(std::uint64_t value) {
    return fmt::format("{}.{:03}", value / 1000, value % 1000);
}

constexpr bool is_continuation(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

struct CodeRange {
    std::uint32_t first;
    std::uint32_t last;
};

/// What a terminal obeys, or shows as nothing or as a blank: controls, Bidi_Control,
/// Default_Ignorable_Code_Point, the separators Zs, Zl and Zp but for the blank itself, and what
/// marks annotations. Source: Unicode 15.0, PropList.txt, DerivedCoreProperties.txt,
/// UnicodeData.txt.
constexpr CodeRange kUnseen[] = {
    {0x0000, 0x001f},   {0x007f, 0x00a0}, {0x00ad, 0x00ad}, {0x034f, 0x034f},   {0x061c, 0x061c},
    {0x115f, 0x1160},   {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f}, {0x3000, 0x3000}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

bool is_unseen(std::uint32_t code) noexcept {
    return std::any_of(std::begin(kUnseen), std::end(kUnseen), [code](CodeRange range) {
        return range.first <= code && code <= range.last;
    });
}

bool is_control(char byte) noexcept {
    const auto code = static_cast<unsigned char>(byte);
    return code < ' ' || code == 0x7f;
}

std::string escaped_byte(char byte) {
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

/// As in C: "\n", "\x1b", "\u202e", "\U000e0001".
std::string escaped(std::uint32_t code) {
    switch (code) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return code < 0x80      ? escaped_byte(static_cast<char>(code))
                   : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                    : fmt::format("\\U{:08x}", code);
    }
}

}  // namespace

std::string to_utf8(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    while (true) {
        const char* const broken = utf8::find_invalid(text.begin(), text.end());
        result.append(text.begin(), broken);
        if (broken == text.end()) {
            return result;
        }
        result += "\ufffd";
        text.remove_prefix(static_cast<std::size_t>(broken - text.begin()) + 1);
    }
}

std::string one_line(std::string_view text) {
    std::string line = to_utf8(text);
    std::replace_if(line.begin(), line.end(), is_control, ' ');
    return printable(line);
}

bool is_blank(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || is_control(c); });
}

std::string grouped(std::uint64_t number) {
    constexpr std::size_t kGroup = 3;
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > kGroup;) {
        at -= kGroup;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    const std::string_view plural = number == 1 ? "" : noun.ends_with('s') ? "es" : "s";
    return grouped(number).append(" ").append(noun).append(plural);
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += {kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
    return text;
}

std::string milliseconds(std::uint64_t ns) {
    return thousandths(ns / kNsPerUs);
}

std::string short_duration(std::uint64_t ns) {
    if (ns >= kNsPerSecond) {
        return thousandths(ns / kNsPerMs) + " s";
    }
    if (ns >= kNsPerMs) {
        return thousandths(ns / kNsPerUs) + " ms";
    }
    if (ns >= kNsPerUs) {
        return std::to_string(ns / kNsPerUs) + " us";
    }
    return std::to_string(ns) + " ns";
}

std::string session_length(std::uint64_t ms) {
    const std::uint64_t seconds = ms / 1000;
    return fmt::format("{:02}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                       ms % 1000);
}

std::string decimal(double value, int digits, bool sign) {
    std::string text =
        sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
    const bool is_minus_zero =
        text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos;
    return is_minus_zero ? decimal(0, digits, sign) : text;
}

double percent_of(std::uint64_t part, std::uint64_t whole) noexcept {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
    constexpr double kLeastShown = 0.1;
    const double percent = percent_of(part, whole);
    return part > 0 && percent < kLeastShown ? "<0.1 %" : fmt::format("{:.1f} %", percent);
}

std::string printable(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    const char* at = text.begin();
    for (const char* broken = at; at != text.end();) {
        broken = at < broken ? broken : utf8::find_invalid(at, text.end());
        if (at == broken) {
            result += escaped_byte(*at++);
            continue;
        }
        const char* const begin = at;
        const std::uint32_t code = utf8::unchecked::next(at);
        if (code != ' ' && (code < 0x7f ? code < ' ' : is_unseen(code))) {
            result += escaped(code);
        } else {
            result.append(begin, at);
        }
    }
    return result;
}

std::string shell_word(std::string_view text) {
    const bool is_printable = printable(text) == text;
    const bool is_plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return c >= 0x80 || std::isalnum(c) != 0 || std::strchr("%+,-./:=@_", c) != nullptr;
    });
    if (is_printable && is_plain && !text.empty()) {
        return std::string{text};
    }
    std::string quoted = is_printable ? "'" : "$'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += is_printable ? R"('\'')" : R"(\')";
        } else {
            quoted.append(c == '\\' && !is_printable ? R"(\)" : "").append(1, c);
        }
    }
    return printable(quoted) + "'";
}

std::size_t display_width(std::string_view text) noexcept {
    return text.size() -
           static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string pad_left(std::string_view text, std::size_t width) {
    const std::size_t used = display_width(text);
    return std::string(width > used ? width - used : 0, ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
    const std::size_t used = display_width(text);
    return std::string{text}.append(width > used ? width - used : 0, ' ');
}

}  // namespace sample

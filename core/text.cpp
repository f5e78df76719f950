#include "core/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sample {
namespace {

constexpr std::uint64_t kNsPerUs = 1'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

template <class... Args>
std::string format(const char* pattern, Args... args) {
    std::array<char, 128> buffer{};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): all callers are in this file
    const int size = std::snprintf(buffer.data(), buffer.size(), pattern, args...);
    return {buffer.data(), static_cast<std::size_t>(std::max(size, 0))};
}

/// `value` / 1000 with three digits behind the point.
std::string thousandths(std::uint64_t value) {
    return format("%llu.%03llu", static_cast<unsigned long long>(value / 1000),
                  static_cast<unsigned long long>(value % 1000));
}

constexpr bool is_continuation(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

struct CodePoint {
    std::uint32_t value = 0;
    std::size_t size = 0;  ///< Bytes; 0: broken.
};

/// The code point at the front of `text`, which is not empty. Source: RFC 3629.
CodePoint decode(std::string_view text) noexcept {
    struct Form {
        unsigned mask;
        unsigned lead;
        std::uint32_t least;  ///< Smaller values have a shorter form.
    };
    constexpr std::array<Form, 4> kForms = {
        {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}}};
    constexpr std::uint32_t kLast = 0x10ffff;
    const auto first = static_cast<unsigned char>(text[0]);
    for (std::size_t i = 0; i < kForms.size(); ++i) {
        if ((first & kForms[i].mask) != kForms[i].lead) {
            continue;
        }
        CodePoint result{first & ~kForms[i].mask, i + 1};
        const std::string_view rest = text.substr(1, i);
        if (rest.size() < i || !std::all_of(rest.begin(), rest.end(), is_continuation)) {
            return {};
        }
        for (const char c : rest) {
            result.value = result.value << 6 | (static_cast<unsigned char>(c) & 0x3f);
        }
        return result.value >= kForms[i].least && result.value <= kLast ? result : CodePoint{};
    }
    return {};
}

/// Whether a terminal obeys it instead of showing it: C0 and C1 controls, text direction.
constexpr bool is_control(std::uint32_t code) noexcept {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

std::string escaped_byte(char byte) {
    return format("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
}

/// As in C: "\n", "\x1b", and "\u202e" for what is more than one byte.
std::string escaped(std::uint32_t code) {
    switch (code) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return code < 0x80 ? escaped_byte(static_cast<char>(code)) : format("\\u%04x", code);
    }
}

}  // namespace

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
    return format("%02llu:%02llu:%02llu.%03llu", static_cast<unsigned long long>(seconds / 3600),
                  static_cast<unsigned long long>(seconds / 60 % 60),
                  static_cast<unsigned long long>(seconds % 60),
                  static_cast<unsigned long long>(ms % 1000));
}

std::string decimal(double value, int digits, bool sign) {
    std::string text = format(sign ? "%+.*f" : "%.*f", digits, value);
    if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) {
        text = format(sign ? "%+.*f" : "%.*f", digits, 0.0);
    }
    return text;
}

std::string grouped(std::uint64_t number) {
    const std::string digits = std::to_string(number);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) {
            text += ',';
        }
        text += digits[i];
    }
    return text;
}

double percent_of(std::uint64_t part, std::uint64_t whole) noexcept {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
    constexpr double kLeastShown = 0.1;
    const double percent = percent_of(part, whole);
    return part > 0 && percent < kLeastShown ? "<0.1 %" : format("%.1f %%", percent);
}

std::string counted(std::uint64_t number, std::string_view noun) {
    std::string text = grouped(number) + " ";
    text += noun;
    if (number != 1) {
        text += noun.ends_with('s') ? "es" : "s";
    }
    return text;
}

std::string printable(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const CodePoint code = decode(text);
        if (code.size == 0) {
            result += escaped_byte(text[0]);
        } else if (is_control(code.value)) {
            result += escaped(code.value);
        } else {
            result += text.substr(0, code.size);
        }
        text.remove_prefix(std::max<std::size_t>(code.size, 1));
    }
    return result;
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

std::string_view file_name(std::string_view path) noexcept {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace sample

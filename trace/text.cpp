#include "trace/text.h"

#include "trace/wire.h"

#include <cstdint>

namespace sample::trace {
namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr std::string_view kEllipsis = "\u2026";

constexpr bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Takes one character off the front of `text`, which is not empty.
char32_t take_utf8(std::string_view& text) {
    const auto lead = static_cast<unsigned char>(text.front());
    std::size_t size = 1;
    char32_t value = lead;
    char32_t smallest = 0;
    if (lead >= 0xf0 && lead < 0xf8) {
        size = 4;
        value = lead & 0x07U;
        smallest = 0x10000;
    } else if (lead >= 0xe0 && lead < 0xf0) {
        size = 3;
        value = lead & 0x0fU;
        smallest = 0x800;
    } else if (lead >= 0xc0 && lead < 0xe0) {
        size = 2;
        value = lead & 0x1fU;
        smallest = 0x80;
    } else if (lead >= 0x80) {
        text.remove_prefix(1);
        return kReplacement;
    }
    for (std::size_t i = 1; i < size; ++i) {
        if (i >= text.size() || !is_continuation(text[i])) {
            text.remove_prefix(1);
            return kReplacement;
        }
        value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        text.remove_prefix(1);
        return kReplacement;
    }
    text.remove_prefix(size);
    return value;
}

void put_utf8(std::string& out, char32_t value) {
    const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (value < 0x80) {
        put(value);
    } else if (value < 0x800) {
        put(0xc0 | (value >> 6));
        put(0x80 | (value & 0x3f));
    } else if (value < 0x10000) {
        put(0xe0 | (value >> 12));
        put(0x80 | ((value >> 6) & 0x3f));
        put(0x80 | (value & 0x3f));
    } else {
        put(0xf0 | (value >> 18));
        put(0x80 | ((value >> 12) & 0x3f));
        put(0x80 | ((value >> 6) & 0x3f));
        put(0x80 | (value & 0x3f));
    }
}

}  // namespace

std::string bounded_text(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return std::string{text};
    }
    std::size_t end = limit - kEllipsis.size();
    for (std::size_t back = 0; back < 3 && back < end && is_continuation(text[end - back]);
         ++back) {
        if (!is_continuation(text[end - back - 1])) {
            end -= back + 1;
            break;
        }
    }
    return std::string{text.substr(0, end)}.append(kEllipsis);
}

std::vector<std::byte> utf16_from_utf8(std::string_view text) {
    std::vector<std::byte> out;
    out.reserve(2 * text.size());
    while (!text.empty()) {
        const char32_t value = take_utf8(text);
        if (value >= 0x10000) {
            wire::append(out, 0xd800 + ((value - 0x10000) >> 10), 2);
            wire::append(out, 0xdc00 + ((value - 0x10000) & 0x3ff), 2);
        } else {
            wire::append(out, value, 2);
        }
    }
    return out;
}

std::string utf8_from_utf16(std::span<const std::byte> text) {
    std::string out;
    std::size_t at = 0;
    const auto unit_at = [text](std::size_t offset) {
        return offset + 2 <= text.size() ? char32_t{wire::load<std::uint16_t>(text.data() + offset)}
                                         : char32_t{0};
    };
    while (at + 2 <= text.size()) {
        char32_t value = unit_at(at);
        at += 2;
        if (value >= 0xd800 && value < 0xdc00 && (unit_at(at) & 0xfc00) == 0xdc00) {
            value = 0x10000 + ((value - 0xd800) << 10) + (unit_at(at) - 0xdc00);
            at += 2;
        } else if (value >= 0xd800 && value < 0xe000) {
            value = kReplacement;
        }
        put_utf8(out, value);
    }
    return out;
}

}  // namespace sample::trace

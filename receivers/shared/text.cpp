#include "receivers/shared/text.h"

#include <algorithm>
#include <cstdint>

namespace sample::receivers {
namespace {

constexpr bool continues_a_letter(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

/// So much of the text's first `most` bytes as are whole letters.
std::size_t cut(std::string_view text, std::size_t most) noexcept {
    std::size_t count = std::min(text.size(), most);
    while (count > 0 && count < text.size() && continues_a_letter(text[count])) {
        --count;
    }
    return count;
}

}  // namespace

std::size_t put_utf8(char32_t letter, std::span<char> out) noexcept {
    constexpr char32_t kReplacement = 0xfffd;
    if (letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000)) {
        letter = kReplacement;
    }
    const std::size_t size = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    if (size > out.size()) {
        return 0;
    }
    if (size == 1) {
        out[0] = static_cast<char>(letter);
        return size;
    }
    for (std::size_t at = size; at-- > 1; letter >>= 6U) {
        out[at] = static_cast<char>(0x80U | (letter & 0x3fU));
    }
    // As many bits from the top as there are bytes.
    out[0] = static_cast<char>(0xf00U >> size | letter);
    return size;
}

Text::Text(const char* text) noexcept : Text{text, text == nullptr ? 0 : SIZE_MAX} {}

Text::Text(const char* text, std::size_t count) noexcept {
    const std::size_t looked_at = std::min(count, kMostNameBytes + 1);
    if (looked_at != 0) {
        add({text, ::strnlen(text, looked_at)});
    }
    end();
}

Text::Text(const wchar_t* text) noexcept : Text{text, text == nullptr ? 0 : SIZE_MAX} {}

Text::Text(const wchar_t* text, std::size_t count) noexcept {
    std::size_t put = 1;
    for (std::size_t i = 0; i < count && text[i] != L'\0' && put != 0; ++i) {
        put = put_utf8(static_cast<char32_t>(text[i]),
                       std::span{bytes_}.subspan(size_, kMostNameBytes - size_));
        size_ += put;
    }
    end();
}

Text Text::joined(std::initializer_list<std::string_view> parts) noexcept {
    Text text;
    for (const std::string_view part : parts) {
        text.add(part);
    }
    text.end();
    return text;
}

void Text::add(std::string_view text) noexcept {
    const std::size_t count = cut(text, kMostNameBytes - size_);
    if (count != 0) {
        std::memcpy(bytes_.data() + size_, text.data(), count);
        size_ += count;
    }
}

void Text::end() noexcept {
    bytes_[size_] = '\0';
}

}  // namespace sample::receivers

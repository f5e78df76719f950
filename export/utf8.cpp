#include "export/utf8.h"

#include <cstddef>

namespace sample::exports {

namespace {

struct Range {
    unsigned char least = 0;
    unsigned char most = 0;

    [[nodiscard]] bool has(char byte) const {
        const auto value = static_cast<unsigned char>(byte);
        return least <= value && value <= most;
    }
};

constexpr Range kContinuation{0x80, 0xbf};

/// What may follow `lead`, which begins a character of `bytes` bytes.
struct Lead {
    std::size_t bytes = 0;  ///< 0: begins no character.
    Range second = kContinuation;
};

Lead lead_of(char first) {
    const auto lead = static_cast<unsigned char>(first);
    if (lead < 0x80) {
        return {1};
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        return {2};
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        return {3, lead == 0xe0   ? Range{0xa0, 0xbf}
                   : lead == 0xed ? Range{0x80, 0x9f}
                                  : kContinuation};
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        return {4, lead == 0xf0   ? Range{0x90, 0xbf}
                   : lead == 0xf4 ? Range{0x80, 0x8f}
                                  : kContinuation};
    }
    return {};
}

/// The bytes of the character that `text` begins with; 0 if it begins with none.
std::size_t character_bytes(std::string_view text) {
    const Lead lead = lead_of(text.front());
    if (lead.bytes > text.size() || (lead.bytes > 1 && !lead.second.has(text[1]))) {
        return 0;
    }
    for (std::size_t i = 2; i < lead.bytes; ++i) {
        if (!kContinuation.has(text[i])) {
            return 0;
        }
    }
    return lead.bytes;
}

}  // namespace

std::string to_utf8(std::string_view text) {
    constexpr std::string_view kReplacement = "\xef\xbf\xbd";
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        result += bytes == 0 ? kReplacement : text.substr(0, bytes);
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
    return result;
}

std::string one_line(std::string_view text) {
    constexpr char kDelete = 0x7f;
    std::string line = to_utf8(text);
    for (char& character : line) {
        if ((character >= 0 && character < ' ') || character == kDelete) {
            character = ' ';
        }
    }
    return line;
}

}  // namespace sample::exports

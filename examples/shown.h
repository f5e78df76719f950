// Text of a file on a terminal: a file may come from anywhere.
#pragma once

#include <string>
#include <string_view>

/// `text`, where everything that is not printable ASCII, which a terminal might obey, is "?".
inline std::string shown(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        result += byte >= 0x20 && byte < 0x7f ? c : '?';
    }
    return result;
}

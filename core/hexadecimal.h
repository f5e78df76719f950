// Bytes as text, two digits each: how build-ids are written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sample {

/// Lower case. Not async-signal-safe.
[[nodiscard]] inline std::string to_hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 0xf];
    }
    return text;
}

}  // namespace sample

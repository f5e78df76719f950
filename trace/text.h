// Text as the container carries it: UTF-8 cut to a limit, and UTF-16 in other people's events.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sample::trace {

/// `text`, or as many of its characters as fit in `limit` bytes together with a closing "…".
/// `limit` is at least 3. Text that is not UTF-8 is cut at a byte.
[[nodiscard]] std::string bounded_text(std::string_view text, std::size_t limit);

/// UTF-8 of UTF-16, little-endian. An unpaired surrogate becomes U+FFFD; an odd last byte is left
/// out.
[[nodiscard]] std::string utf8_from_utf16(std::span<const std::byte> text);

}  // namespace sample::trace

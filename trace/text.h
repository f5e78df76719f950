// Text as the container carries it: UTF-8 cut to a limit, and UTF-16 for the fields that other
// people's readers expect to be wide.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// `text`, or as many of its characters as fit in `limit` bytes together with a closing "…".
/// `limit` is at least 3. Text that is not UTF-8 is cut at a byte.
[[nodiscard]] std::string bounded_text(std::string_view text, std::size_t limit);

/// UTF-16, little-endian. A byte that is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::vector<std::byte> utf16_from_utf8(std::string_view text);

/// UTF-8. An unpaired surrogate becomes U+FFFD; an odd last byte is left out.
[[nodiscard]] std::string utf8_from_utf16(std::span<const std::byte> text);

}  // namespace sample::trace

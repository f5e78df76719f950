// Text for formats that must be UTF-8: names come from files that anybody may have made.
#pragma once

#include <string>
#include <string_view>

namespace sample::exports {

/// `text`, each byte that is not part of a character in UTF-8 replaced by U+FFFD. O(bytes).
/// Source: The Unicode Standard 15.0, table 3-7.
[[nodiscard]] std::string to_utf8(std::string_view text);

/// The same with a space for each control character, so that it stays on its line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace sample::exports

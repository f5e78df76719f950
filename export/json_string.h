// A JSON string literal.
#pragma once

#include <string>
#include <string_view>

namespace sample::exports {

/// `text` in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace sample::exports

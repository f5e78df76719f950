// What the C++ library's namespaces and aliases are called by people.
#pragma once

#include <string>
#include <string_view>

namespace sample::symbolize {

/// True for a namespace inside std that its users don't write: "__1", "__cxx11", "_V2".
[[nodiscard]] bool is_inline_of_std(std::string_view component) noexcept;

/// "string" for basic_string<char, std::char_traits<char>, std::allocator<char> >, with inline
/// namespaces or without; empty where the library has no such alias. O(1).
[[nodiscard]] std::string std_alias(std::string_view template_name, std::string_view arguments);

}  // namespace sample::symbolize

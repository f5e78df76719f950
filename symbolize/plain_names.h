// Names, and ends of names, that follow no grammar of arguments and templates.
#pragma once

#include <cstddef>
#include <string_view>

namespace sample::symbolize {

/// Whether nothing of `name` can be left out: "[not sampled]", "module+0xoffset", Objective-C.
[[nodiscard]] bool is_plain_name(std::string_view name);

/// Where "@plt", " [clone …]" and " [guessed]" begin, which belong to no language.
[[nodiscard]] std::size_t ending_of(std::string_view name);

}  // namespace sample::symbolize

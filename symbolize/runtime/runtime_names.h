// Names for people out of what run-time compilers call their code. docs/symbolization.md has the
// table of the forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sample::symbolize {

/// What is longer is cut where it is read.
inline constexpr std::size_t kMaxNameBytes = 4096;

struct ReadableName {
    std::string name;
    std::string source;      ///< Empty where the form does not hold it.
    std::uint32_t line = 0;  ///< Where the function begins; 0 likewise.
};

/// The forms of Python, V8 and Java, and names for linkers; what has none of them stays as it is.
/// Control characters become spaces. Never fails. Thread-safe.
[[nodiscard]] ReadableName readable_name(std::string_view given);

/// True for what V8 calls a JavaScript function.
[[nodiscard]] bool is_v8_javascript(std::string_view given);

}  // namespace sample::symbolize

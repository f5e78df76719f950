// Which of the known documents a JSON text is, by the fields of its root; and what is wrong with
// one that is none.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <string_view>

namespace sample::imports {

enum class JsonKind : std::uint8_t {
    script_profiler_1,
    script_profiler_2,  ///< Also of other versions, which its reader refuses.
    speedscope,
    firefox,
    chrome,
    unknown,
};

/// Decides by the first field that only one of them has, and reads no further. Errors: corrupt,
/// with the byte, where that is not reached. No recursion.
[[nodiscard]] Result<JsonKind> kind_of_json(std::string_view text);

/// The error of a text that simdjson refuses, for the reason `what`: simdjson does not say where,
/// so that the text is read once more.
[[nodiscard]] Unexpected malformed_json(std::string_view text, std::string_view what);

}  // namespace sample::imports

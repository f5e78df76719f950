// Which document a JSON text is, by the fields of its root; and what is wrong with one that is
// none.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace sample::imports {

/// A field of a document's root. Without `value` any value will do; otherwise it is a string that
/// contains this, or this number.
struct RootField {
    std::string_view key;
    std::string_view value;
};
/// Stands for a root that is an array.
inline constexpr std::string_view kArrayRoot = "[";

/// Whether `text` begins as a document does: an object with a name in quotes, an array of such or
/// of strings, also one that is cut off. Lines of other formats may begin with brackets, too.
[[nodiscard]] bool is_like_json(std::string_view text);

/// The index in `fields` of what the root has first of them, and reads no further; none: it has
/// none. Errors: corrupt, with the byte, where that is not reached. No recursion.
[[nodiscard]] Result<std::optional<std::size_t>> find_root_field(std::string_view text,
                                                                 std::span<const RootField> fields);

/// The error of a text that simdjson refuses, for the reason `what`: simdjson does not say where,
/// so that the text is read once more.
[[nodiscard]] Unexpected malformed_json(std::string_view text, std::string_view what);

}  // namespace sample::imports

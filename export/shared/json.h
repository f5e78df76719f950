// JSON, written piece by piece: documents are larger than memory should hold at once.
#pragma once

#include "callgraph/profile.h"
#include "export/shared/writer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sample::exports {

/// `text` in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

/// `,"key":value`, or nothing for 0: what is not known.
void json_known(Writer& out, std::string_view key, std::uint64_t value);

/// A list's `length` values, of which `write_value(i)` writes the i-th: `first` is before the first
/// one, `next` before each further one. Stops early once the sink has failed.
template <class WriteValue>
void json_list(Writer& out, std::size_t length, std::string_view first, std::string_view next,
               const WriteValue& write_value) {
    for (std::size_t i = 0; i < length && out.is_good(); ++i) {
        out.put(std::exchange(first, next));
        write_value(i);
    }
}

/// A column of a table: `,"key":[…]`. `cell(i)` is the text or number of the i-th row.
template <class Cell>
void json_column(Writer& out, std::string_view key, std::size_t length, const Cell& cell) {
    out.put(",\"", key, "\":[");
    json_list(out, length, "", ",", [&](std::size_t i) { out.put(cell(i)); });
    out.put("]");
}

/// `[{"name","file","line","module"}…` without the end of the list: the functions in the profile's
/// order, for events that name them by index; what is not known is left out.
void write_functions(Writer& out, const callgraph::Profile& profile);

}  // namespace sample::exports

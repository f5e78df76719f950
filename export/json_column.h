// A column of a table of a JSON document: `,"key":[…]`.
#pragma once

#include "export/writer.h"

#include <cstddef>
#include <string_view>

namespace sample::exports {

/// `write_cell(i)` writes the i-th of `length` values. Stops early once the sink has failed.
template <class WriteCell>
void json_column(Writer& out, std::string_view key, std::size_t length, WriteCell write_cell) {
    out.text(",\"").text(key).text("\":[");
    for (std::size_t i = 0; i < length && out.is_good(); ++i) {
        if (i != 0) {
            out.text(",");
        }
        write_cell(i);
    }
    out.text("]");
}

}  // namespace sample::exports

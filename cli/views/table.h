// The rows of a view and the two ways to print them: lines for people, objects for programs.
//
// A view declares each column once. Its kind says how values are written, and where they stand: a
// line has the figures first, then ids, then words, each in the order of declaration; an object has
// its members in that order. Values are made when they are printed.
//
// Included by .cpp files only: JSON is costly to compile.
#pragma once

#include "cli/views/json.h"
#include "cli/views/text.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sample::cli {

enum class Kind : std::uint8_t {
    weight,  ///< As Table::measure says.
    share,   ///< Of Column::whole, in per cent.
    count,
    figure,  ///< Text, written by the view.
    id,
    word,
};

struct Column {
    std::string key;      ///< Of the member in JSON; empty: for people only.
    std::string heading;  ///< Empty: for programs only.
    Kind kind = Kind::word;
    std::function<Json(std::size_t row)> value;  ///< Null: not known.
    std::uint64_t whole = 0;     ///< If not 0: figures are coloured by their part of it.
    Style style = Style::plain;  ///< Of all its cells, if `whole` is 0.
    bool may_lack = false;       ///< Instead of null, JSON has no such member.
};

struct Table {
    Measure measure;
    std::size_t rows = 0;
    std::vector<Column> columns;
    /// What ends a line: of what it is, in at most `room` columns (0: all it takes).
    std::string name_heading;
    std::function<std::string(std::size_t row, std::size_t room)> name;
    std::string empty;  ///< The line that stands for rows where there are none.
};

/// Makes values: `values_of(rows)(get)` is what std::invoke(get, row) gives for each row. `rows`
/// must outlive them.
template <class Row>
[[nodiscard]] auto values_of(const std::vector<Row>& rows) {
    return [&rows](auto get) {
        return [&rows, get](std::size_t row) { return Json(std::invoke(get, rows[row])); };
    };
}

/// "-" for null; strings printable.
[[nodiscard]] std::string cell_text(const Json& value);

/// A line of headings, and one for each of the first `most` rows.
[[nodiscard]] std::string text_of(const Table& table, const Terminal& terminal,
                                  std::size_t most = SIZE_MAX);
/// An array of an object for each row.
[[nodiscard]] Json json_of(const Table& table);

/// A whole view: the session, then the table, and in text what its reader must know, `below`
/// first. In JSON the table is the member `key`.
[[nodiscard]] std::string print(const callgraph::Profile& profile, const ViewOptions& options,
                                const char* key, const Table& table, std::string below);

}  // namespace sample::cli

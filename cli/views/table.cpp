#include "cli/views/table.h"

#include <algorithm>
#include <utility>

namespace sample::cli {
namespace {

constexpr std::size_t kTextGap = 2;

/// Figures first, then ids, then words.
int place(Kind kind) {
    if (kind == Kind::word) {
        return 2;
    }
    return kind == Kind::id ? 1 : 0;
}

/// A column as text; its heading is row 0.
struct TextColumn {
    const Column* column = nullptr;
    std::size_t gap = 0;  ///< Before it.
    std::size_t width = 0;
    std::vector<std::string> cells = {};

    [[nodiscard]] Style style(std::size_t row) const {
        return column->whole == 0
                   ? column->style
                   : heat(percent_of(column->value(row).get<std::uint64_t>(), column->whole));
    }
};

/// Of weights, zeros are blank.
std::string text_of(const Table& table, const Column& column, const Json& value) {
    switch (column.kind) {
        case Kind::weight:
            return value == 0 ? "" : table.measure.cell(value.get<std::uint64_t>());
        case Kind::share:
            return value == 0 ? "" : percent_text(value.get<std::uint64_t>(), column.whole);
        default:
            return cell_text(value);
    }
}

/// Those that have a heading, in the order that they stand on a line.
std::vector<TextColumn> text_columns(const Table& table, const Terminal& terminal,
                                     std::size_t rows) {
    std::vector<TextColumn> columns;
    for (const Column& column : table.columns) {
        if (!column.heading.empty()) {
            columns.push_back({&column});
        }
    }
    std::stable_sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) {
        return place(a.column->kind) < place(b.column->kind);
    });
    std::size_t widths[] = {10, 7, 10, 0, 8, 0};  // by Kind: figures of a kind are equally wide
    for (TextColumn& each : columns) {
        const Column& column = *each.column;
        each.cells.push_back(column.kind == Kind::weight
                                 ? table.measure.heading(column.heading, terminal)
                                 : column.heading);
        for (std::size_t row = 0; row < rows; ++row) {
            each.cells.push_back(text_of(table, column, column.value(row)));
        }
        const bool is_text = column.kind == Kind::word || column.kind == Kind::figure;
        each.gap = is_text ? kTextGap : &each != &columns.front() ? 1 : 0;
        const auto kind = static_cast<std::size_t>(column.kind);
        for (const std::string& cell : each.cells) {
            each.width = std::max({each.width, widths[kind], display_width(cell)});
        }
        widths[kind] = is_text ? 0 : each.width;
    }
    for (TextColumn& each : columns) {
        each.width = std::max(each.width, widths[static_cast<std::size_t>(each.column->kind)]);
    }
    return columns;
}

}  // namespace

std::string cell_text(const Json& value) {
    if (value.is_null()) {
        return "-";
    }
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

std::string text_of(const Table& table, const Terminal& terminal, std::size_t most) {
    const std::size_t rows = std::min(table.rows, most);
    const std::vector<TextColumn> columns = text_columns(table, terminal, rows);
    std::size_t used = kTextGap;
    for (const TextColumn& each : columns) {
        used += each.gap + each.width;
    }
    const std::size_t room = room_beside(used, terminal.width);
    std::string out;
    for (std::size_t row = 0; row <= rows; ++row) {
        std::string line;
        for (const TextColumn& each : columns) {
            const bool is_word = each.column->kind == Kind::word;
            const std::string& cell = each.cells[row];
            line += std::string(each.gap, ' ') +
                    styled(terminal, row == 0 ? Style::plain : each.style(row - 1),
                           is_word ? pad_right(cell, each.width) : pad_left(cell, each.width));
        }
        line += std::string(kTextGap, ' ');
        line += row == 0 ? table.name_heading : table.name(row - 1, room);
        line.erase(line.find_last_not_of(' ') + 1);
        out += (row == 0 ? styled(terminal, Style::bold, line) : line) + "\n";
    }
    return rows == 0 && !table.empty.empty() ? out + table.empty + "\n" : out;
}

Json json_of(const Table& table) {
    Json list = Json::array();
    for (std::size_t row = 0; row < table.rows; ++row) {
        Json& object = list.emplace_back(Json::object());
        for (const Column& column : table.columns) {
            Json value = column.key.empty() ? Json{} : column.value(row);
            if (column.key.empty() || (column.may_lack && value.is_null())) {
                continue;
            }
            object[column.key] = column.kind == Kind::weight
                                     ? Json(table.measure.number(value.get<std::uint64_t>()))
                                     : std::move(value);
        }
    }
    return list;
}

std::string print(const callgraph::Profile& profile, const ViewOptions& options, const char* key,
                  const Table& table, std::string below) {
    if (options.json) {
        Json out = session_json(profile);
        out[key] = json_of(table);
        return dump(out);
    }
    std::string rows = text_of(table, options.terminal, options.most_rows);
    if (options.only_rows) {
        return rows;
    }
    return session_line(profile, options.terminal) + "\n" +
           restriction_line(profile, options.terminal) + "\n" + std::move(rows) +
           footer(profile, options.terminal, std::move(below));
}

}  // namespace sample::cli

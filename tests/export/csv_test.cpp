#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "core/text.h"
#include "export/formats.h"
#include "random_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Function;
using callgraph::Profile;

using Row = std::vector<std::string>;

/// RFC 4180. Records a test failure for what it does not allow.
std::vector<Row> parse(const std::string& text) {
    std::vector<Row> rows(1);
    std::string cell;
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char character = text[i];
        if (is_quoted) {
            if (character != '"') {
                cell += character;
            } else if (text.substr(i, 2) == "\"\"") {
                cell += '"';
                ++i;
            } else {
                is_quoted = false;
            }
        } else if (character == '"') {
            EXPECT_TRUE(cell.empty()) << "a quote in the middle of " << cell;
            is_quoted = true;
        } else if (character == ',' || character == '\r') {
            rows.back().push_back(std::move(cell));
            cell.clear();
            if (character == '\r') {
                EXPECT_EQ(text.substr(i, 2), "\r\n");
                ++i;
                rows.emplace_back();
            }
        } else {
            EXPECT_NE(character, '\n');
            cell += character;
        }
    }
    EXPECT_TRUE(!is_quoted && cell.empty() && rows.back().empty()) << "the last line has no end";
    rows.pop_back();
    return rows;
}

std::vector<Row> rows_of(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_csv(profile, to_string_sink(text)).has_value());
    std::vector<Row> rows = parse(text);
    for (const Row& row : rows) {
        EXPECT_EQ(row.size(), 12U);
    }
    return rows;
}

/// As docs/format-csv.md says how to read text.
std::string without_apostrophe(const std::string& cell) {
    return cell.starts_with('\'') ? cell.substr(1) : cell;
}

Row row_of(const std::string& name) {
    Profile profile;
    profile.functions.emplace_back().name = name;
    return rows_of(profile).at(1);
}

TEST(Csv, has_a_row_for_each_function) {
    const Profile profile = random_profile(1);
    const std::vector<Row> rows = rows_of(profile);
    ASSERT_EQ(rows.size(), profile.functions.size() + 1);
    EXPECT_EQ(rows[0],
              (Row{"name", "source", "line", "module", "build_id", "flags", "total [ns]",
                   "self [ns]", "total [samples]", "self [samples]", "total [%]", "self [%]"}));
    std::vector<Row> expected;
    for (const Function& function : profile.functions) {
        const callgraph::CodeModule& module = profile.module_of(function);
        expected.push_back(
            {printable(to_utf8(callgraph::label(function))),
             function.source == module.name ? "" : function.source,
             function.line == 0 ? "" : std::to_string(function.line), module.path, module.build_id,
             std::vector<std::string>{"", "native", "plugin", "native plugin"}[function.flags],
             std::to_string(function.total), std::to_string(function.self),
             std::to_string(function.samples), std::to_string(function.self_samples)});
    }
    std::vector<Row> seen;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        seen.emplace_back(rows[i].begin(), rows[i].begin() + 10);
        if (i > 1) {
            EXPECT_GE(std::stoull(rows[i - 1][7]), std::stoull(rows[i][7])) << "by self time";
        }
    }
    std::sort(expected.begin(), expected.end());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, expected);
}

TEST(Csv, per_cent_are_of_the_whole) {
    Profile profile;
    profile.nodes.resize(1);
    profile.nodes[0].total = 3'000'000;
    Function& function = profile.functions.emplace_back();
    function.total = 3'000'000;
    function.self = 1'000'000;
    const Row row = rows_of(profile).at(1);
    EXPECT_EQ(row[10], "100.0000");
    EXPECT_EQ(row[11], "33.3333");
}

TEST(Csv, what_is_not_known_is_no_number) {
    const Row row = row_of("f");
    EXPECT_EQ(row[2], "") << "line";
    EXPECT_EQ(row[10], "") << "per cent of nothing";
}

TEST(Csv, units_are_in_the_header) {
    Profile profile = callgraph::average(random_profile(1), 25);
    EXPECT_EQ(rows_of(profile)[0][6], "total [ns scaled by 5]");
    profile = random_profile(1);
    profile.metric.unit = profile.event = "page-faults";
    EXPECT_EQ(rows_of(profile)[0][7], "self [page-faults]");
}

TEST(Csv, text_is_quoted) {
    EXPECT_EQ(row_of("a,\"b\"c")[0], "a,\"b\"c");
    EXPECT_EQ(row_of("a\r\nb\tc\x1b[31m\u202ed")[0], R"(a\r\nb\tc\x1b[31m\u202ed)");
    EXPECT_EQ(row_of("f(\xff)")[0], "f(\xef\xbf\xbd)");
}

TEST(Csv, no_name_is_a_formula_and_each_can_be_told) {
    for (const std::string name :
         {"=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "''", "'=1", "\xef\xbc\x9dx"}) {
        const std::string cell = row_of(name)[0];
        EXPECT_TRUE(cell.starts_with('\'')) << cell;
        EXPECT_EQ(without_apostrophe(cell), name);
    }
    for (const std::string name : {"main", "a=b", "operator-", "~Worker()", "<anonymous>"}) {
        EXPECT_EQ(row_of(name)[0], name);
    }
}

TEST(Csv, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_csv(random_profile(1), full).has_value());
}

}  // namespace
}  // namespace sample::exports

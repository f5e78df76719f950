// Every export format is known wherever formats are listed by hand.
#include "analysis/export_format.h"

#include "tests/built.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace sample::analysis {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file{std::string{built::kSourceFolder} + "/" + path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

class ListOfFormats : public testing::TestWithParam<const char*> {};

TEST_P(ListOfFormats, is_complete) {
    std::string text = text_of(GetParam());
    std::erase(text, '\\');  // A manual page writes "perf\-script".
    for (const ExportFormat& format : export_formats()) {
        EXPECT_NE(text.find(format.name), std::string::npos) << format.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Each, ListOfFormats,
                         testing::Values("docs/man/sample.1", "docs/command-line.md", "README.md"));

TEST(ExportFormats, have_a_page_each) {
    for (const ExportFormat& format : export_formats()) {
        const std::string page = "docs/format-" + std::string{format.name} + ".md";
        EXPECT_NE(text_of(page), "") << page;
    }
}

TEST(ExportFormats, are_found_by_name) {
    for (const ExportFormat& format : export_formats()) {
        const auto found = find_export_format(format.name);
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, &format);
    }
    const auto unknown = find_export_format("jso");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(unknown.error().message().find(export_format_names()), std::string::npos);
}

}  // namespace
}  // namespace sample::analysis

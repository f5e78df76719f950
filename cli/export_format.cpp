#include "cli/export_format.h"

#include "cli/option_words.h"

namespace sample::cli {
namespace {

constexpr Words<ExportFormat, 2> kFormats = {
    {{"json", ExportFormat::json}, {"folded", ExportFormat::folded}}};

}  // namespace

std::string export_format_names() {
    std::string list;
    for (const auto& [word, format] : kFormats) {
        list += list.empty() ? "" : ", ";
        list += word;
    }
    return list;
}

Result<ExportFormat> parse_export_format(std::string_view name) {
    return parse_word("the export format", name, kFormats);
}

}  // namespace sample::cli

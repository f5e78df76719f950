#include "export/csv.h"

#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "export/profile_facts.h"
#include "export/source_file.h"
#include "export/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// Of a cell that a spreadsheet would run, in ASCII and in the wide forms that some take as well.
/// Source: OWASP, CSV Injection.
bool needs_apostrophe(std::string_view text) {
    constexpr std::array<std::string_view, 11> kBeginnings{"=",
                                                           "+",
                                                           "-",
                                                           "@",
                                                           "\t",
                                                           "\r",
                                                           "\n",
                                                           "\xef\xbc\x9d",
                                                           "\xef\xbc\x8b",
                                                           "\xef\xbc\x8d",
                                                           "\xef\xbc\xa0"};
    return text.starts_with('\'') ||
           std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [&](std::string_view beginning) { return text.starts_with(beginning); });
}

void write_text(Writer& out, std::string_view text) {
    const std::string cell = to_utf8(text);
    out.text(needs_apostrophe(cell) ? "\"'" : "\"");
    std::string_view rest = cell;
    for (std::size_t quote = rest.find('"'); quote != std::string_view::npos;
         quote = rest.find('"')) {
        out.text(rest.substr(0, quote)).text("\"\"");
        rest.remove_prefix(quote + 1);
    }
    out.text(rest).text("\"");
}

/// Nothing if there is no whole.
void write_percent(Writer& out, std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
        return;
    }
    constexpr int kDigits = 4;
    constexpr std::size_t kLongest = 64;
    constexpr double kPercent = 100;
    const double percent = kPercent * static_cast<double>(part) / static_cast<double>(whole);
    std::array<char, kLongest> text{};
    const char* end = std::to_chars(text.data(), text.data() + text.size(), percent,
                                    std::chars_format::fixed, kDigits)
                          .ptr;
    out.text({text.data(), static_cast<std::size_t>(end - text.data())});
}

std::string_view flags_text(std::uint32_t flags) {
    const bool is_native = (flags & callgraph::kNative) != 0;
    if ((flags & callgraph::kPlugin) == 0) {
        return is_native ? "native" : "";
    }
    return is_native ? "native plugin" : "plugin";
}

void write_header(const Profile& profile, Writer& out) {
    std::string unit = unit_of(profile);
    if (profile.scale != 1.0) {
        unit += " scaled by " + scale_text(profile);
    }
    out.text("\"name\",\"source\",\"line\",\"module\",\"build_id\",\"flags\",");
    for (const std::string_view column : {"total", "self"}) {
        write_text(out, std::string{column}.append(" [").append(unit).append("]"));
        out.text(",");
    }
    out.text("\"total [samples]\",\"self [samples]\",\"total [%]\",\"self [%]\"\r\n");
}

}  // namespace

Result<void> write_csv(const Profile& profile, const Sink& sink) {
    Writer out{sink};
    write_header(profile, out);
    const std::uint64_t whole = profile.nodes.empty() ? 0 : profile.nodes[0].total_ns;
    std::vector<FunctionId> ids = callgraph::find_functions(profile, "");
    callgraph::sort_by_self(profile, ids);
    for (const FunctionId id : ids) {
        const Function& function = profile.function(id);
        const callgraph::CodeModule& module = profile.module_of(function);
        write_text(out, callgraph::label(function));
        out.text(",");
        write_text(out, source_file(profile, function));
        out.text(",");
        if (function.line != 0) {
            out.number(function.line);
        }
        out.text(",");
        write_text(out, module.path.empty() ? module.name : module.path);
        out.text(",");
        write_text(out, module.build_id);
        out.text(",");
        write_text(out, flags_text(function.flags));
        out.text(",").number(function.total_ns).text(",").number(function.self_ns);
        out.text(",").number(function.samples).text(",").number(function.self_samples).text(",");
        write_percent(out, function.total_ns, whole);
        out.text(",");
        write_percent(out, function.self_ns, whole);
        out.text("\r\n");
    }
    return out.finish();
}

}  // namespace sample::exports

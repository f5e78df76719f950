#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "core/text.h"
#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// In quotes. One that a spreadsheet would run gets an apostrophe in front: such text in ASCII and
/// in the wide forms that some take as well, and text that has one. Source: OWASP, CSV Injection.
std::string text_cell(std::string_view text) {
    constexpr std::array<std::string_view, 4> kWide{"\uff1d", "\uff0b", "\uff0d", "\uff20"};
    std::string cell = printable(to_utf8(text));
    const bool is_run = cell.find_first_of("'=+-@") == 0 ||
                        std::any_of(kWide.begin(), kWide.end(),
                                    [&](std::string_view wide) { return cell.starts_with(wide); });
    for (std::size_t at = cell.find('"'); at != std::string::npos; at = cell.find('"', at + 2)) {
        cell.insert(at, 1, '"');
    }
    return (is_run ? "\"'" : "\"") + cell + "\"";
}

/// Empty if there is no whole.
std::string percent_cell(std::uint64_t part, std::uint64_t whole) {
    constexpr double kPercent = 100;
    return whole == 0 ? ""
                      : fmt::format("{:.4f}", kPercent * static_cast<double>(part) /
                                                  static_cast<double>(whole));
}

std::string_view flags_text(std::uint32_t flags) {
    constexpr std::array<std::string_view, 4> kTexts{"", "native", "plugin", "native plugin"};
    return kTexts[flags & (callgraph::kNative | callgraph::kPlugin)];
}

}  // namespace

Result<void> write_csv(const Profile& profile, const Sink& sink) {
    Writer out{sink};
    const std::string unit = unit_of(profile) + (profile.is_net ? " net of sampling" : "") +
                             (profile.scale != 1.0 ? " scaled by " + scale_text(profile) : "");
    out.put("\"name\",\"source\",\"line\",\"module\",\"build_id\",\"flags\",",
            text_cell("total [" + unit + "]"), ",", text_cell("self [" + unit + "]"),
            ",\"total [samples]\",\"self [samples]\",\"total [%]\",\"self [%]\"\r\n");
    const std::uint64_t whole = profile.nodes.empty() ? 0 : profile.nodes[0].total;
    std::vector<FunctionId> ids = callgraph::find_functions(profile, "");
    callgraph::sort_by_self(profile, ids);
    for (const FunctionId id : ids) {
        const Function& function = profile.function(id);
        const callgraph::CodeModule& module = profile.module_of(function);
        out.put(text_cell(callgraph::label(function)), ",",
                text_cell(source_file(profile, function)), ",",
                function.line == 0 ? "" : std::to_string(function.line), ",",
                text_cell(module_file(module)), ",", text_cell(module.build_id), ",",
                text_cell(flags_text(function.flags)), ",");
        const auto samples = [&profile](std::uint64_t count) {
            return profile.stats.counts_samples ? std::to_string(count) : std::string{};
        };
        out.put(function.total, ",", function.self, ",", samples(function.samples), ",",
                samples(function.self_samples), ",", percent_cell(function.total, whole), ",",
                percent_cell(function.self, whole), "\r\n");
    }
    return out.finish();
}

}  // namespace sample::exports

#include "analysis/export_format.h"

#include "export/formats.h"

#include <algorithm>
#include <array>

namespace sample::analysis {
namespace {

constexpr Details kNoDetails{.times = false, .lines = false};
constexpr Details kTimes{.times = true, .lines = false};
constexpr Details kLines{.times = false, .lines = true};
constexpr Details kTimesAndLines{.times = true, .lines = true};

constexpr std::array kFormats{
    ExportFormat{"json", exports::write_script_profiler_json, kNoDetails},
    ExportFormat{"folded", exports::write_folded, kNoDetails},
    ExportFormat{"pprof", exports::write_pprof, kTimesAndLines, true},
    ExportFormat{"speedscope", exports::write_speedscope, kTimes},
    ExportFormat{"firefox", exports::write_firefox, kTimesAndLines},
    ExportFormat{"chrome", exports::write_chrome_trace, kTimes},
    ExportFormat{"callgrind", exports::write_callgrind, kLines},
    ExportFormat{"perf-script", exports::write_perf_script, kTimes},
    ExportFormat{"html", exports::write_html, kNoDetails},
    ExportFormat{"csv", exports::write_csv, kNoDetails},
};

}  // namespace

std::span<const ExportFormat> export_formats() {
    return kFormats;
}

std::string export_format_names() {
    std::string list;
    for (const ExportFormat& format : kFormats) {
        list += list.empty() ? "" : ", ";
        list += format.name;
    }
    return list;
}

Result<const ExportFormat*> find_export_format(std::string_view name) {
    const auto* found =
        std::find_if(kFormats.begin(), kFormats.end(),
                     [name](const ExportFormat& format) { return format.name == name; });
    if (found == kFormats.end()) {
        std::string message = "the export format cannot be '";
        message += name;
        message += "': choose one of " + export_format_names();
        return unexpected(ErrorCode::invalid_argument, std::move(message));
    }
    return &*found;
}

}  // namespace sample::analysis

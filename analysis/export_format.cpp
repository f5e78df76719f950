#include "analysis/export_format.h"

#include "export/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace sample::analysis {
namespace {

constexpr Details kNoDetails{};
constexpr Details kMemory{.memory = true};
constexpr Details kTimes{.times = true};
constexpr Details kLines{.times = false, .lines = true};
constexpr Details kTimesAndMarkers{.times = true, .markers = true};
constexpr Details kTimesAndMetrics{.times = true, .metrics = true};
constexpr Details kAllDetails{.times = true, .lines = true, .metrics = true};
constexpr Details kEverything{.times = true, .lines = true, .metrics = true, .markers = true};

constexpr std::array kFormats{
    ExportFormat{"json", exports::write_script_profiler_json, kMemory},
    ExportFormat{"folded", exports::write_folded, kNoDetails},
    ExportFormat{"pprof", exports::write_pprof, kAllDetails, true},
    ExportFormat{"speedscope", exports::write_speedscope, kTimesAndMetrics},
    ExportFormat{"firefox", exports::write_firefox, kEverything},
    ExportFormat{"chrome", exports::write_chrome_trace, kTimesAndMarkers},
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
    std::vector<std::string_view> names;
    names.reserve(kFormats.size());
    for (const ExportFormat& format : kFormats) {
        names.push_back(format.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

Result<const ExportFormat*> find_export_format(std::string_view name) {
    const auto* found =
        std::find_if(kFormats.begin(), kFormats.end(),
                     [name](const ExportFormat& format) { return format.name == name; });
    if (found == kFormats.end()) {
        return unexpected(ErrorCode::invalid_argument,
                          fmt::format("the export format cannot be '{}': choose one of {}", name,
                                      export_format_names()));
    }
    return &*found;
}

}  // namespace sample::analysis

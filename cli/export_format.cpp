#include "cli/export_format.h"

#include "export/callgrind.h"
#include "export/csv.h"
#include "export/firefox.h"
#include "export/folded.h"
#include "export/html.h"
#include "export/pprof.h"
#include "export/script_profiler_json.h"

#include <algorithm>
#include <array>

namespace sample::cli {
namespace {

Result<void> write_folded(const callgraph::Profile& profile, const exports::Sink& sink) {
    return exports::write_folded(profile, sink);
}

constexpr Details kNoDetails{.times = false, .lines = false};
constexpr Details kTimesAndLines{.times = true, .lines = true};

constexpr std::array kFormats{
    ExportFormat{"json", exports::write_script_profiler_json, kNoDetails},
    ExportFormat{"folded", write_folded, kNoDetails},
    ExportFormat{"pprof", exports::write_pprof, {.times = true, .lines = true}},
    ExportFormat{"callgrind", exports::write_callgrind, {.times = false, .lines = true}},
    ExportFormat{"csv", exports::write_csv, kNoDetails},
    ExportFormat{"html", exports::write_html, kNoDetails},
    ExportFormat{"firefox", exports::write_firefox, kTimesAndLines},
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

}  // namespace sample::cli

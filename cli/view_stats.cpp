// The figures that say how a recording was made and how far to trust it. All are measured; what was
// not measured is null in JSON and "-" in text. The text is made from the JSON, so the two name the
// same things.
#include "cli/broken_stacks.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/view_parts.h"
#include "cli/views.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace sample::cli {
namespace {

/// Rounded to `digits` behind the point, so that no noise is printed.
Json rounded(const std::optional<double>& value, double factor) {
    return value ? Json(std::round(*value * factor) / factor) : Json{};
}

Json figures(const callgraph::Profile& profile) {
    constexpr double kTenths = 10.0;
    const callgraph::Truth& truth = profile.truth;
    return {{"requested_hz", truth.requested_hz == 0 ? Json{} : Json(truth.requested_hz)},
            {"achieved_hz", rounded(truth.achieved_hz, kTenths)},
            {"source", truth.source.empty() ? Json{} : Json(truth.source)},
            {"source_reason", truth.source_reason.empty() ? Json{} : Json(truth.source_reason)},
            {"event", profile.event.empty() ? Json{} : Json(profile.event)},
            {"unit", profile.is_time() ? "us" : profile.unit},
            {"period", truth.period == 0 ? Json{} : Json(truth.period)},
            {"clock", truth.clock.empty() ? Json{} : Json(truth.clock)},
            {"wall_us", microseconds(truth.wall_ns)},
            {"process_cpu_us",
             truth.process_cpu_ns ? Json(microseconds(*truth.process_cpu_ns)) : Json{}},
            {weight_key(profile, "total"), weight(profile, root_total_ns(profile))},
            {weight_key(profile, "sampled"), weight(profile, truth.sampled_ns)},
            {weight_key(profile, "booked"), weight(profile, truth.booked_ns)},
            {"samples", truth.samples},
            {"lost", truth.lost},
            {"truncated_stacks", truth.truncated_stacks},
            {weight_key(profile, "truncated"), weight(profile, truth.truncated_ns)},
            {"incomplete_stacks", truth.incomplete_stacks},
            {weight_key(profile, "incomplete"), weight(profile, truth.incomplete_ns)},
            {"guessed_stacks", truth.guessed_stacks},
            {weight_key(profile, "guessed"), weight(profile, truth.guessed_ns)},
            {"threads", truth.threads},
            {"processes", truth.processes},
            {"handler_ns_mean", rounded(truth.handler_ns_mean, kTenths)},
            {"handler_ns_p99", or_null(truth.handler_ns_p99)},
            {"agent_rss_bytes", or_null(truth.agent_rss_bytes)},
            {"unwind_table_bytes", or_null(truth.unwind_table_bytes)},
            {"whole", truth.whole}};
}

std::string cell(const Json& value) {
    if (value.is_null()) {
        return "-";
    }
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

std::string process_line(const callgraph::ProcessTotals& process) {
    std::string line =
        "  " + std::to_string(process.pid) + "  " +
        printable(process.command_line.empty() ? process.executable : process.command_line);
    line += ": " + (process.ending.empty() ? "end unknown" : printable(process.ending)) + ", " +
            (process.cpu_ns != 0 ? milliseconds(process.cpu_ns) + " ms" : "CPU time unknown");
    if (!process.source.empty()) {
        line += ", " + printable(process.source);
    }
    if (!process.source_reason.empty()) {
        line += " (" + printable(process.source_reason) + ")";
    }
    return line + "\n";
}

}  // namespace

Json session_json(const callgraph::Profile& profile) {
    return {{"command", profile.command_line},
            {"start_unix_ms", profile.start_unix_ms},
            {"end_unix_ms", profile.end_unix_ms},
            {"event", profile.event.empty() ? Json{} : Json(profile.event)},
            {"unit", profile.is_time() ? "us" : profile.unit},
            {weight_key(profile, "total"), weight(profile, root_total_ns(profile))},
            {"scale", profile.scale}};
}

std::string stats_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const Json values = figures(profile);
    std::size_t width = 0;
    for (const auto& [name, value] : values.items()) {
        width = std::max(width, name.size());
    }
    std::string out = session_line(profile, options.terminal) + "\n\n";
    for (const auto& [name, value] : values.items()) {
        out += styled(options.terminal, Style::dim, pad_right(name, width)) + "  " + cell(value) +
               "\n";
    }
    out += broken_stacks_text(profile, options.terminal);
    if (!profile.processes.empty()) {
        out += "\nprocesses\n";
    }
    for (const callgraph::ProcessTotals& process : profile.processes) {
        out += process_line(process);
    }
    for (const std::string& line : warnings(profile)) {
        out += "note: " + line + "\n";
    }
    return out;
}

std::string stats_json(const callgraph::Profile& profile) {
    Json out = figures(profile);
    out["scale"] = profile.scale;
    out["command"] = profile.command_line;
    out["start_unix_ms"] = profile.start_unix_ms;
    out["end_unix_ms"] = profile.end_unix_ms;
    out["break_reasons"] = break_reasons_json(profile);
    out["broken_stacks"] = broken_stacks_json(profile);
    Json processes = Json::array();
    for (const callgraph::ProcessTotals& process : profile.processes) {
        processes.push_back({{"pid", process.pid},
                             {"parent_pid", process.parent_pid},
                             {"executable", process.executable},
                             {"command", process.command_line},
                             {"source", process.source},
                             {"source_reason", process.source_reason},
                             {"ending", process.ending},
                             {"ended_badly", process.ended_badly},
                             {"cpu_us", microseconds(process.cpu_ns)}});
    }
    out["process_list"] = std::move(processes);
    Json unprofiled = Json::array();
    for (const callgraph::UnprofiledProgram& program : profile.unprofiled) {
        unprofiled.push_back({{"pid", program.pid},
                              {"parent_pid", program.parent_pid},
                              {"executable", program.executable},
                              {"reason", program.reason}});
    }
    out["unprofiled"] = std::move(unprofiled);
    out["notes"] = profile.truth.notes;
    return dump(out);
}

}  // namespace sample::cli

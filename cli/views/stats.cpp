// The figures that say how a recording was made and how far to trust it. All are measured; what was
// not measured is null in JSON and "-" in text. The text is made from the JSON, so the two name the
// same things.
#include "cli/views/broken_stacks.h"
#include "cli/views/table.h"
#include "cli/views/views.h"
#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace sample::cli {
namespace {

/// Rounded to `digits` behind the point, so that no noise is printed.
Json rounded(const std::optional<double>& value, double factor) {
    return value ? Json(std::round(*value * factor) / factor) : Json{};
}

const char* word_of(callgraph::Sampling sampling) {
    return sampling == callgraph::Sampling::on    ? "on"
           : sampling == callgraph::Sampling::off ? "off"
                                                  : "foreign";
}

Json figures(const callgraph::Profile& profile) {
    constexpr double kTenths = 10.0;
    const callgraph::Stats& stats = profile.stats;
    const Measure measure = measure_of(profile);
    const auto of_price = [&](double ns) { return stats.sample_cost_ns ? rounded(ns, 1) : Json{}; };
    const std::uint64_t shown = profile.nodes.empty() ? 0 : profile.nodes.front().samples;
    return {{"requested_hz", known(stats.requested_hz)},
            {"achieved_hz", rounded(stats.achieved_hz, kTenths)},
            {"source", known(stats.source)},
            {"source_reason", known(stats.source_reason)},
            {"sampling", word_of(stats.sampling)},
            {"event", known(profile.event)},
            {"unit", profile.is_time() ? "us" : profile.metric.unit},
            {"period", known(stats.period)},
            {"clock", known(stats.clock)},
            {"wall_us", microseconds(stats.wall_ns)},
            {"process_cpu_us",
             stats.process_cpu_ns ? Json(microseconds(*stats.process_cpu_ns)) : Json{}},
            {"unprofiled_cpu_us", microseconds(stats.unprofiled_cpu_ns)},
            {measure.key("total"), measure.number(measure.whole)},
            {"total_samples", or_null(stats.known_samples(shown))},
            {measure.key("sampled"), measure.number(stats.sampled)},
            {measure.key("booked"), measure.number(stats.booked)},
            {"samples", or_null(stats.known_samples(stats.samples))},
            {"effective_samples", rounded(stats.effective_samples, 1)},
            {"lost", stats.lost},
            {"truncated_stacks", stats.truncated_stacks},
            {measure.key("truncated"), measure.number(stats.truncated)},
            {"incomplete_stacks", stats.incomplete_stacks},
            {measure.key("incomplete"), measure.number(stats.incomplete)},
            {"guessed_stacks", stats.guessed_stacks},
            {measure.key("guessed"), measure.number(stats.guessed)},
            {"threads", stats.threads},
            {"processes", stats.processes},
            {"handler_ns_mean", rounded(stats.handler_ns_mean, kTenths)},
            {"handler_ns_p99", or_null(stats.handler_ns_p99)},
            {"signal_way_ns_mean", rounded(stats.signal_way_ns_mean, kTenths)},
            {"late_samples", stats.signal_way_ns_mean ? Json(stats.late_samples) : Json{}},
            {"sample_cost_ns", rounded(stats.sample_cost_ns, 1)},
            {"sample_cost_ns_low", of_price(stats.sample_cost_low_ns)},
            {"sample_cost_ns_high", of_price(stats.sample_cost_high_ns)},
            {"gross_us", stats.gross ? Json(microseconds(*stats.gross)) : Json{}},
            {"net_us", stats.net ? Json(microseconds(*stats.net)) : Json{}},
            {"agent_cpu_us", microseconds(stats.agent_cpu_ns)},
            {"agent_rss_bytes", or_null(stats.agent_rss_bytes)},
            {"unwind_table_bytes", or_null(stats.unwind_table_bytes)},
            {"zones", stats.said.zones},
            {"regions", stats.said.regions},
            {"frames", stats.said.frames},
            {"counters", stats.said.counters},
            {"counter_values", stats.said.values},
            {"messages", stats.said.messages},
            {"own_events", stats.said.events},
            {"whole", stats.whole}};
}

std::string process_line(const callgraph::ProcessTotals& process) {
    std::string line = fmt::format(
        "  {}  {}: {}, {}", process.pid,
        printable(process.command_line.empty() ? process.executable : process.command_line),
        process.ending.empty() ? "end unknown" : printable(process.ending),
        process.cpu_ns != 0 ? milliseconds(process.cpu_ns) + " ms" : "CPU time unknown");
    if (process.source == trace::kNoSource) {
        line += ", not profiled";
    } else if (!process.source.empty()) {
        line += ", " + printable(process.source);
    }
    if (!process.source_reason.empty()) {
        line += " (" + printable(process.source_reason) + ")";
    }
    return line + "\n";
}

}  // namespace

Json session_json(const callgraph::Profile& profile) {
    const Measure measure = measure_of(profile);
    // The views of what programs say have no tree.
    const std::uint64_t total =
        profile.nodes.empty() ? profile.stats.sampled + profile.stats.booked : measure.whole;
    Json out = {{"command", profile.command_line},
                {"start_unix_ms", profile.start_unix_ms},
                {"end_unix_ms", profile.end_unix_ms},
                {"event", known(profile.event)},
                {"unit", measure.is_time() ? "us" : measure.counted},
                {measure.key("total"), measure.number(total)},
                {"scale", profile.scale},
                {"net", profile.is_net}};
    if (!profile.restriction.empty()) {
        out["restriction"] = profile.restriction;
    }
    out["notes"] = profile.stats.notes;
    return out;
}

Json stats_members(const callgraph::Profile& profile) {
    Json out = figures(profile);
    out["scale"] = profile.scale;
    out["net"] = profile.is_net;
    if (!profile.restriction.empty()) {
        out["restriction"] = profile.restriction;
    }
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
    out["notes"] = profile.stats.notes;
    return out;
}

std::string stats_view(const callgraph::Profile& profile, const ViewOptions& options) {
    if (options.json) {
        return dump(stats_members(profile));
    }
    const Json values = figures(profile);
    std::size_t width = 0;
    for (const auto& [name, value] : values.items()) {
        width = std::max(width, name.size());
    }
    std::string out = session_line(profile, options.terminal) + "\n" +
                      restriction_line(profile, options.terminal) + "\n";
    for (const auto& [name, value] : values.items()) {
        out += fmt::format("{}  {}\n", styled(options.terminal, Style::dim, pad_right(name, width)),
                           cell_text(value));
    }
    out += broken_stacks_text(profile, options.terminal);
    if (!profile.processes.empty()) {
        out += "\nprocesses\n";
    }
    for (const callgraph::ProcessTotals& process : profile.processes) {
        out += process_line(process);
    }
    for (const std::string& note : profile.stats.notes) {
        out += "note: " + printable(note) + "\n";
    }
    return out;
}

}  // namespace sample::cli

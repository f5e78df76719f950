// Zones and regions by name.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

using analysis::DurationHistogram;
using analysis::RegionTotals;
using analysis::ZoneTotals;

struct ZoneRow {
    const trace::ZoneSpec* spec = nullptr;
    const ZoneTotals* totals = nullptr;
};

constexpr double kMedian = 0.5;
constexpr double kMost = 0.95;
constexpr double kNearlyAll = 0.99;

/// Min to max, as many as a terminal has room for.
template <class DurationsOf>
void add_distribution(Table& table, const Terminal& terminal, const DurationsOf& of) {
    constexpr std::size_t kRoomForAll = 130;
    const bool is_wide = terminal.width == 0 || terminal.width >= kRoomForAll;
    const auto add = [&](const char* key, const char* heading, bool is_shown, auto get) {
        add_duration(table, key, is_shown ? heading : "",
                     [of, get](std::size_t row) { return get(of(row)); });
    };
    const auto part = [](double share) {
        return [share](const DurationHistogram& all) {
            return all.count() == 0 ? 0 : all.quantile(share);
        };
    };
    add("mean_ns", "mean", true, [](const DurationHistogram& all) { return all.mean_ns(); });
    add("min_ns", "min", is_wide, [](const DurationHistogram& all) { return all.min_ns(); });
    add("p50_ns", "p50", is_wide, part(kMedian));
    add("p95_ns", "p95", is_wide, part(kMost));
    add("p99_ns", "p99", true, part(kNearlyAll));
    add("max_ns", "max", !is_narrow(terminal),
        [](const DurationHistogram& all) { return all.max_ns(); });
}

std::string place_of(const trace::ZoneSpec& spec) {
    return spec.category.empty() ? printable(spec.name)
                                 : printable(spec.category) + ": " + printable(spec.name);
}

std::vector<ZoneRow> zone_rows(const analysis::Zones& zones, const std::string& search) {
    std::vector<ZoneRow> rows;
    for (std::size_t i = 0; i < zones.totals().size(); ++i) {
        const ZoneRow row{&zones.names().specs()[i], &zones.totals()[i]};
        if (row.totals->begun + row.totals->durations.count() + row.totals->total_ns != 0 &&
            place_of(*row.spec).find(search) != std::string::npos) {
            rows.push_back(row);
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const ZoneRow& left, const ZoneRow& right) {
        return left.totals->total_ns > right.totals->total_ns;
    });
    return rows;
}

Table zones_table(const std::vector<ZoneRow>& rows, const analysis::ProgramRecording& recording,
                  const Terminal& terminal) {
    Table table;
    table.measure = measure_of(recording.session);
    table.measure.whole = recording.session.stats.sampled;
    table.rows = rows.size();
    const auto of = values_of(rows);
    const auto totals = [&](auto get) {
        return of([get](const ZoneRow& row) { return std::invoke(get, *row.totals); });
    };
    const auto spec = [&](auto get) {
        return of([get](const ZoneRow& row) { return std::invoke(get, *row.spec); });
    };
    using trace::ZoneSpec;
    table.columns = {
        {"name", "", Kind::word, spec(&ZoneSpec::name)},
        {"category", "", Kind::word,
         spec([](const ZoneSpec& each) { return known(each.category); })},
        {"file", "", Kind::word, spec([](const ZoneSpec& each) { return known(each.file); })},
        {"line", "", Kind::id, spec([](const ZoneSpec& each) { return known(each.line); })},
        {"count", "count", Kind::count, totals(&ZoneTotals::begun)},
        {"open", "", Kind::count, totals(&ZoneTotals::open)}};
    add_duration(table, "total_ns", "total",
                 [&rows](std::size_t row) { return rows[row].totals->total_ns; });
    add_duration(table, "self_ns", "self",
                 [&rows](std::size_t row) { return rows[row].totals->self_ns; });
    add_distribution(table, terminal, [&rows](std::size_t row) -> const DurationHistogram& {
        return rows[row].totals->durations;
    });
    // What was sampled is time, or what the metric counts.
    const callgraph::Profile& session = recording.session;
    const bool has_samples = session.stats.samples != 0;
    const Measure measure = table.measure;
    const auto add_sampled = [&](const char* key, const char* heading,
                                 std::uint64_t ZoneTotals::*get) {
        table.columns.push_back({measure.is_time() ? std::string{key} + "_ns" : key, "",
                                 Kind::count, of([=](const ZoneRow& row) {
                                     return has_samples ? Json(row.totals->*get) : Json{};
                                 })});
        table.columns.push_back(
            {"", has_samples ? heading : "", Kind::figure, of([=](const ZoneRow& row) {
                 const std::uint64_t sampled = row.totals->*get;
                 return sampled == 0        ? std::string{}
                        : measure.is_time() ? brief_duration(sampled)
                                            : grouped(sampled);
             })});
    };
    const bool is_cpu = session.is_time() && session.stats.clock != "wall";
    add_sampled("sampled", is_cpu ? "cpu" : "sampled", &ZoneTotals::sampled);
    add_sampled("sampled_self",
                is_narrow(terminal) ? ""
                : is_cpu            ? "cpu self"
                                    : "sampled self",
                &ZoneTotals::sampled_self);
    table.name_heading = "zone";
    table.name = [&rows, terminal](std::size_t row, std::size_t room) {
        const trace::ZoneSpec& each = *rows[row].spec;
        return name_and_place(place_of(each), each.file, each.line, room, terminal);
    };
    table.empty = none_of("zones", recording.session.stats.said.zones);
    return table;
}

Table regions_table(const std::vector<RegionTotals>& regions, const Terminal& terminal) {
    Table table;
    table.rows = regions.size();
    const auto of = values_of(regions);
    table.columns = {{"name", "", Kind::word, of(&RegionTotals::name)},
                     {"category", "", Kind::word,
                      of([](const RegionTotals& each) { return known(each.category); })},
                     {"count", "count", Kind::count, of(&RegionTotals::begun)},
                     {"open", "", Kind::count, of(&RegionTotals::open)}};
    add_duration(table, "total_ns", "total",
                 [&regions](std::size_t row) { return regions[row].durations.sum_ns(); });
    add_distribution(table, terminal, [&regions](std::size_t row) -> const DurationHistogram& {
        return regions[row].durations;
    });
    table.name_heading = "region";
    table.name = [&regions, terminal](std::size_t row, std::size_t room) {
        return cut_end(printable(regions[row].name), room, terminal);
    };
    return table;
}

/// What a reader must know before believing the figures.
std::string below_zones(const analysis::ProgramRecording& recording,
                        const std::vector<ZoneRow>& rows) {
    std::string text;
    std::uint64_t open = 0;
    for (const ZoneRow& row : rows) {
        open += row.totals->open;
    }
    const analysis::ProgramEvents& events = recording.events;
    if (open != 0) {
        text += fmt::format(
            "{} had not ended when the recording did: in count and total, not in "
            "the others\n",
            counted(open, "zone"));
    }
    if (const std::uint64_t ends = recording.zones->ends_without_begin(); ends != 0) {
        text += fmt::format("{} of zones belong to none that began\n", counted(ends, "end"));
    }
    if (events.lost_zones != 0) {
        text += fmt::format("{} and {} were lost: the program said more than could be taken\n",
                            counted(events.lost_zones, "zone"),
                            counted(events.lost_others, "other message"));
    }
    if (events.flows != 0) {
        text += fmt::format("{} with {}\n", counted(events.flows, "flow"),
                            counted(events.flow_steps, "step"));
    }
    return text;
}

}  // namespace

std::string zones_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    const std::vector<ZoneRow> rows = zone_rows(*recording.zones, options.search);
    const Table zones = zones_table(rows, recording, options.terminal);
    std::vector<RegionTotals> shown = recording.regions;
    std::erase_if(shown, [&](const RegionTotals& region) {
        return region.name.find(options.search) == std::string::npos &&
               region.category.find(options.search) == std::string::npos;
    });
    const Table regions = regions_table(shown, options.terminal);
    const analysis::ProgramEvents& events = recording.events;
    if (options.json) {
        Json out = session_json(recording.session);
        out["zones"] = json_of(zones);
        out["regions"] = json_of(regions);
        out["ends_without_begin"] = recording.zones->ends_without_begin();
        out["lost_zones"] = events.lost_zones;
        out["lost_others"] = events.lost_others;
        out["flows"] = events.flows;
        out["flow_steps"] = events.flow_steps;
        return dump(out);
    }
    std::string text =
        head_of(recording.session, options.terminal) + text_of(zones, options.terminal);
    if (!shown.empty()) {
        text += "\n" + text_of(regions, options.terminal);
    }
    return text + footer(recording.session, options.terminal, below_zones(recording, rows));
}

}  // namespace sample::cli

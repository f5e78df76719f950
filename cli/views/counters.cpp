// Counters: what each was, and how it went.
#include "cli/views/program_text.h"
#include "cli/views/program_views.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

using analysis::CounterSeries;

/// "12.3 MiB", "1,234", "0.25".
std::string value_text(const CounterSeries& of, double value) {
    constexpr double kKibi = 1024;
    constexpr double kMostGrouped = 1e15;
    if (of.spec.is_memory) {
        const char* unit = "B";
        for (const char* const next : {"KiB", "MiB", "GiB", "TiB"}) {
            if (std::abs(value) < kKibi) {
                break;
            }
            value /= kKibi;
            unit = next;
        }
        return fmt::format("{:.4g} {}", value, unit);
    }
    if (value == std::floor(value) && std::abs(value) < kMostGrouped) {
        return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(std::abs(value)));
    }
    return fmt::format("{:.6g}", value);
}

/// JSON has no infinities; integers are written as such.
Json number_json(double value) {
    constexpr double kMostExact = 9007199254740992;  // 2^53
    if (!std::isfinite(value)) {
        return {};
    }
    return value == std::floor(value) && std::abs(value) <= kMostExact
               ? Json(static_cast<std::int64_t>(value))
               : Json(value);
}

}  // namespace

std::string counters_view(const analysis::ProgramRecording& recording, const ViewOptions& options) {
    constexpr std::size_t kNarrowLine = 20;
    constexpr std::size_t kLine = 40;
    constexpr std::size_t kParts = 100;
    std::vector<const CounterSeries*> rows;
    for (const CounterSeries& each : recording.events.counters) {
        if (each.spec.name.find(options.search) != std::string::npos) {
            rows.push_back(&each);
        }
    }
    const std::uint64_t begin_ns = recording.start_ns;
    const std::uint64_t end_ns = recording.end_ns;
    Table table;
    table.rows = rows.size();
    const auto of = [&rows](auto get) {
        return [&rows, get](std::size_t row) { return Json(std::invoke(get, *rows[row])); };
    };
    table.columns = {
        {"name", "", Kind::word, of([](const CounterSeries& each) { return each.spec.name; })},
        {"unit", "", Kind::word, of([](const CounterSeries& each) {
             return each.spec.is_memory ? Json("bytes") : Json{};
         })},
        {"values", "", Kind::count,
         of([](const CounterSeries& each) { return each.points.size(); })}};
    const auto add = [&](const char* key, const char* heading, auto get) {
        table.columns.push_back({key, "", Kind::count, of([get](const CounterSeries& each) {
                                     return number_json(get(each));
                                 })});
        table.columns.push_back({"", heading, Kind::figure, of([get](const CounterSeries& each) {
                                     return value_text(each, get(each));
                                 })});
    };
    add("last", "last", [](const CounterSeries& each) { return each.last(); });
    add("min", "min", [](const CounterSeries& each) { return each.min(); });
    add("max", "max", [](const CounterSeries& each) { return each.max(); });
    add("mean", is_narrow(options.terminal) ? "" : "mean",
        [end_ns](const CounterSeries& each) { return each.mean(end_ns); });
    const std::size_t width = is_narrow(options.terminal) ? kNarrowLine : kLine;
    table.columns.push_back(
        {"", "greatest, along time", Kind::word, of([=](const CounterSeries& each) {
             return sparkline(each.peaks(begin_ns, end_ns, width), each.min(), each.max(),
                              options.terminal);
         })});
    table.columns.push_back({"peaks", "", Kind::word, of([=](const CounterSeries& each) {
                                 Json list = Json::array();
                                 for (const auto& peak : each.peaks(begin_ns, end_ns, kParts)) {
                                     list.push_back(peak ? number_json(*peak) : Json{});
                                 }
                                 return list;
                             })});
    table.name_heading = "counter";
    table.name = [&](std::size_t row, std::size_t room) {
        return cut_end(printable(rows[row]->spec.name), room, options.terminal);
    };
    table.empty = none_of("counters", recording.session.stats.said.counters);
    return print(recording.session, options, "counters", table, "");
}

}  // namespace sample::cli

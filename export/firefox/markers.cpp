#include "export/firefox/markers.h"

#include "export/shared/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace sample::exports::firefox {

namespace {

using callgraph::CounterTrack;
using callgraph::Marker;
using callgraph::Profile;

/// What is not known is shown like the last one.
constexpr std::array kSchemas{
    MarkerSchema{"zone", "Zone"}, MarkerSchema{"frame", "Frame"}, MarkerSchema{"region", "Region"},
    MarkerSchema{"bookmark", "Bookmark"}, MarkerSchema{"log", "LogMessage"}};

/// A column of a table: `,"key":[…]`.
template <class Cell>
void marker_column(Writer& out, std::string_view key, const std::vector<std::uint32_t>& markers,
                   const Cell& cell) {
    json_column(out, key, markers.size(), [&](std::size_t i) { return cell(markers[i]); });
}

/// The first main thread of a counter's process, or else its first thread; 0: it has none.
std::size_t track_of(const CounterTrack& counter, const Profile& profile,
                     const std::vector<Track>& tracks) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        if (counter.pid && tracks[i].thread &&
            profile.threads[*tracks[i].thread].pid == *counter.pid) {
            if (tracks[i].is_main) {
                return i;
            }
            first = first.value_or(i);
        }
    }
    return first.value_or(0);
}

/// JSON has no numbers that are not finite; differences of two values are to be finite as well.
bool has_steps(double value) {
    return std::abs(value) <= std::numeric_limits<double>::max() / 2;
}

/// The profiler adds up the rows, and takes the first one for nothing: that is a row of its own.
void write_counter_samples(Writer& out, const CounterTrack& counter) {
    std::vector<CounterTrack::Point> points = counter.points;
    std::erase_if(points, [](const auto& point) { return !has_steps(point.value); });
    const std::int64_t start =
        points.empty() ? 0 : std::min<std::int64_t>(points.front().time_ns, 0);
    points.insert(points.begin(), CounterTrack::Point{start, 0});
    out.put(R"("samples":{"length":)", points.size());
    json_column(out, "time", points.size(),
                [&](std::size_t i) { return decimal(points[i].time_ns, kMs); });
    json_column(out, "count", points.size(), [&](std::size_t i) {
        return fmt::format("{}", i == 0 ? 0 : points[i].value - points[i - 1].value);
    });
    out.put("}");
}

}  // namespace

const MarkerSchema& schema_of(const Marker& marker) {
    const auto* const found =
        std::find_if(kSchemas.begin(), kSchemas.end(),
                     [&](const MarkerSchema& schema) { return schema.kind == marker.kind; });
    return found == kSchemas.end() ? kSchemas.back() : *found;
}

bool has_text(const Marker& marker) {
    const std::string_view kind = schema_of(marker).kind;
    return kind == "bookmark" || kind == "log";
}

void write_marker_schemas(Writer& out) {
    out.put("[");
    json_list(out, kSchemas.size(), "", ",\n", [&](std::size_t i) {
        const MarkerSchema& schema = kSchemas[i];
        out.put(R"({"name":")", schema.name,
                R"(","display":["marker-chart","marker-table","timeline-overview"])");
        if (has_text(Marker{{}, std::string{schema.kind}, {}, 0, 0})) {
            for (const std::string_view label : {"tooltipLabel", "tableLabel", "chartLabel"}) {
                out.put(",\"", label, R"(":"{marker.data.text}")");
            }
            out.put(R"(,"fields":[{"key":"text","label":"Text","format":"string"}]})");
        } else {
            out.put(R"(,"fields":[],"isStackBased":)", schema.kind == "zone" ? "true}" : "false}");
        }
    });
    out.put("]");
}

std::vector<std::vector<std::uint32_t>> markers_of(const Profile& profile,
                                                   const std::vector<Track>& tracks) {
    std::vector<std::vector<std::uint32_t>> markers(tracks.size());
    if (!profile.timeline) {
        return markers;
    }
    std::vector<std::size_t> track_of_thread(profile.threads.size());
    for (std::size_t i = tracks.size(); i-- > 0;) {
        if (tracks[i].thread && tracks[i].view.is_own()) {
            track_of_thread[*tracks[i].thread] = i;
        }
    }
    for (std::uint32_t i = 0; i < profile.markers.size(); ++i) {
        const auto& thread = profile.markers[i].thread;
        markers[thread && *thread < track_of_thread.size() ? track_of_thread[*thread] : 0]
            .push_back(i);
    }
    for (std::vector<std::uint32_t>& of : markers) {
        std::stable_sort(of.begin(), of.end(), [&](std::uint32_t left, std::uint32_t right) {
            return profile.markers[left].begin_ns < profile.markers[right].begin_ns;
        });
    }
    return markers;
}

void write_markers(Writer& out, const Tables& tables, const Profile& profile,
                   const std::vector<std::uint32_t>& markers) {
    const auto marker = [&](std::uint32_t i) -> const Marker& { return profile.markers[i]; };
    const auto is_moment = [&](std::uint32_t i) { return has_text(marker(i)); };
    out.put("{\"length\":", markers.size());
    marker_column(out, "data", markers, [&](std::uint32_t i) {
        const std::string type = fmt::format(R"({{"type":"{}")", schema_of(marker(i)).name);
        return type + (is_moment(i) ? ",\"text\":" + json_string(marker(i).name) : "") + "}";
    });
    marker_column(out, "name", markers, [&](std::uint32_t i) { return tables.marker_name(i); });
    marker_column(out, "startTime", markers,
                  [&](std::uint32_t i) { return decimal(marker(i).begin_ns, kMs); });
    marker_column(out, "endTime", markers, [&](std::uint32_t i) {
        return is_moment(i) ? "null" : decimal(marker(i).end_ns, kMs);
    });
    // An instant, and an interval.
    marker_column(out, "phase", markers, [&](std::uint32_t i) { return is_moment(i) ? 0 : 1; });
    marker_column(out, "category", markers, [](std::uint32_t /*i*/) { return 0; });
    out.put("}");
}

void write_counters(Writer& out, const Profile& profile, const std::vector<Track>& tracks) {
    const std::size_t count = profile.timeline ? profile.counters.size() : 0;
    out.put("[");
    json_list(out, count, "\n", ",\n", [&](std::size_t i) {
        const CounterTrack& counter = profile.counters[i];
        const std::size_t track = track_of(counter, profile, tracks);
        const std::string name = json_string(counter.name);
        const std::string_view unit = counter.is_memory ? "bytes" : "number";
        out.put(R"({"name":)", name, R"(,"category":"Counter","description":"","pid":")",
                tracks[track].pid, R"(","mainThreadIndex":)", track,
                R"(,"display":{"graphType":"line-accumulated","unit":")",
                counter.is_memory ? "bytes" : "", R"(","color":")",
                counter.is_memory ? "orange" : "grey",
                R"(","markerSchemaLocation":null,"sortWeight":50,"label":)", name,
                R"(,"tooltipRows":[{"type":"value","source":"accumulated","format":{"unit":")",
                unit, R"("},"label":)", name, "}]},\n");
        write_counter_samples(out, counter);
        out.put("}");
    });
    out.put("]");
}

}  // namespace sample::exports::firefox

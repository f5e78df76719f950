#include "core/text.h"
#include "export/firefox/markers.h"
#include "export/firefox/tables.h"
#include "export/firefox/tracks.h"
#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

namespace firefox {

namespace {

using callgraph::Profile;

std::string product(const Profile& profile) {
    const std::string_view path = !profile.processes.empty()
                                      ? std::string_view{profile.processes.front().executable}
                                      : std::string_view{profile.command_line};
    const std::string_view name = file_name(path.substr(0, path.find(' ')));
    return name.empty() ? "program" : std::string{name};
}

/// What the profiler takes for the time from sample to sample, where nothing better is known.
std::uint64_t interval_ns(const Profile& profile) {
    if (const std::uint64_t period = sampling_period_ns(profile); period != 0) {
        return period;
    }
    const callgraph::Stats& stats = profile.stats;
    const std::uint64_t mean = stats.samples == 0 ? 0 : stats.wall_ns / stats.samples;
    return mean == 0 ? kMs : mean;
}

/// A section of text for the profiler's page about the profile.
void write_facts(Writer& out, const Profile& profile, bool has_times) {
    std::vector<Fact> entries = facts(profile);
    if (!has_times) {
        entries.push_back({"time axis",
                           "none: when the samples were taken is not known; each stack is one "
                           "sample at time 0, which has all its weight"});
    }
    for (const MetricView& view : views_of(profile)) {
        if (weight_type(view) == "samples") {
            entries.push_back({view.is_own() ? "unit" : "unit of " + view.metric().name,
                               "where the profiler says samples, it is " + view.metric().unit});
        }
    }
    out.put(R"("extra":[{"label":"Recording","entries":[)");
    json_list(out, entries.size(), "", ",\n", [&](std::size_t i) {
        out.put(R"({"label":)", json_string(entries[i].label), R"(,"format":"string","value":)",
                json_string(entries[i].value), "}");
    });
    out.put("]}],\n");
}

void write_meta(Writer& out, const Profile& profile, const Tables& tables,
                const std::vector<Track>& tracks) {
    out.put(R"("meta":{"preprocessedProfileVersion":66,"version":34,"interval":)",
            decimal(interval_ns(profile), kMs), R"(,"startTime":)", profile.start_unix_ms);
    if (profile.end_unix_ms != 0) {
        out.put(R"(,"endTime":)", profile.end_unix_ms);
    }
    const bool has_times = std::any_of(tracks.begin(), tracks.end(),
                                       [](const Track& track) { return track.samples != nullptr; });
    if (has_times && profile.stats.wall_ns != 0) {
        out.put(R"(,"profilingStartTime":0,"profilingEndTime":)",
                decimal(profile.stats.wall_ns, kMs));
    }
    out.put(R"(,"processType":0,"product":)", json_string(product(profile)),
            R"(,"importedFrom":"sample","arguments":)", json_string(profile.command_line),
            R"(,"stackwalk":1,"debug":false,"symbolicated":true,"usesOnlyOneStackType":true,)",
            R"("sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,)",
            R"("markerSchema":)");
    write_marker_schemas(out);
    out.put(",");
    if (weighs_cpu_time(profile)) {
        out.put(R"("sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"},)");
    }
    const auto further = std::find_if(tracks.begin(), tracks.end(),
                                      [](const Track& track) { return !track.view.is_own(); });
    const auto heaviest =
        std::max_element(tracks.begin(), further == tracks.begin() ? tracks.end() : further,
                         [](const Track& a, const Track& b) { return a.total < b.total; });
    out.put(R"("initialSelectedThreads":[)", heaviest - tracks.begin(), "],\n");
    write_facts(out, profile, has_times);
    out.put(R"("categories":)");
    tables.write_categories(out);
    out.put("},\n");
}

}  // namespace

}  // namespace firefox

Result<void> write_firefox(const callgraph::Profile& profile, const Sink& sink) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (auto fits = check_total(profile, kMost, "firefox"); !fits) {
        return fits;
    }
    const firefox::Tables tables{profile};
    const std::vector<firefox::Track> tracks = firefox::tracks_of(profile, tables);
    Writer out{sink};
    out.put("{");
    firefox::write_meta(out, profile, tables, tracks);
    out.put("\"libs\":");
    tables.write_libs(out);
    out.put(",\n\"pages\":[],\n\"shared\":");
    tables.write_shared(out);
    out.put(",\n\"counters\":");
    firefox::write_counters(out, profile, tracks);
    out.put(",\n\"threads\":[");
    const auto markers = firefox::markers_of(profile, tracks);
    json_list(out, tracks.size(), "\n", ",\n",
              [&](std::size_t i) { firefox::write_track(out, tables, tracks[i], markers[i]); });
    out.put("]}\n");
    return out.finish();
}

}  // namespace sample::exports

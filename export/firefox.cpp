#include "export/firefox.h"

#include "export/firefox_tables.h"
#include "export/firefox_tracks.h"
#include "export/json_string.h"
#include "export/largest_total.h"
#include "export/recording_facts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Profile;

constexpr unsigned kMsDigits = 6;

/// "/usr/bin/app" → "app".
std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

std::string product(const Profile& profile) {
    const std::string_view path = !profile.processes.empty()
                                      ? std::string_view{profile.processes.front().executable}
                                      : std::string_view{profile.command_line};
    const std::string_view name = last_part(path.substr(0, path.find(' ')));
    return name.empty() ? "program" : std::string{name};
}

/// What the profiler takes for the time from sample to sample, where nothing better is known.
std::int64_t interval_ns(const Profile& profile) {
    constexpr std::int64_t kMillisecond = 1'000'000;
    if (const std::optional<std::uint64_t> period = sampling_period_ns(profile)) {
        return static_cast<std::int64_t>(*period);
    }
    const callgraph::Stats& stats = profile.stats;
    const std::uint64_t mean = stats.samples == 0 ? 0 : stats.wall_ns / stats.samples;
    return mean == 0 ? kMillisecond : static_cast<std::int64_t>(mean);
}

/// A section of text for the profiler's page about the profile.
void write_facts(Writer& out, const Profile& profile) {
    out.text(R"("extra":[{"label":"Recording","entries":[)");
    std::string_view before;
    const auto write = [&](std::string_view label, std::string_view value) {
        out.text(before).text(R"({"label":)").text(json_string(label));
        out.text(R"(,"format":"string","value":)").text(json_string(value)).text("}");
        before = ",\n";
    };
    for (const RecordingFact& fact : recording_facts(profile)) {
        write(fact.label, fact.value);
    }
    if (!profile.timeline) {
        write("time axis",
              "none: when the samples were taken is not known; each stack is one "
              "sample at time 0, which has all its weight");
    }
    if (!profile.is_time()) {
        write("unit", "where the profiler says samples, it is " + profile.unit);
    }
    out.text("]}],\n");
}

void write_meta(Writer& out, const Profile& profile, const FirefoxTables& tables,
                const std::vector<FirefoxTrack>& tracks) {
    out.text("\"meta\":{\"preprocessedProfileVersion\":66,\"version\":34,\"interval\":");
    out.decimal(interval_ns(profile), kMsDigits);
    out.text(",\"startTime\":").number(profile.start_unix_ms);
    if (profile.end_unix_ms != 0) {
        out.text(",\"endTime\":").number(profile.end_unix_ms);
    }
    if (profile.timeline && profile.stats.wall_ns != 0) {
        out.text(R"(,"profilingStartTime":0,"profilingEndTime":)");
        out.decimal(static_cast<std::int64_t>(profile.stats.wall_ns), kMsDigits);
    }
    out.text(",\"processType\":0,\"product\":").text(json_string(product(profile)));
    out.text(",\"importedFrom\":\"sample\",\"arguments\":").text(json_string(profile.command_line));
    out.text(R"(,"stackwalk":1,"debug":false,"symbolicated":true,"usesOnlyOneStackType":true,)");
    out.text(R"("sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,)");
    out.text(R"("markerSchema":[],)");
    if (weighs_cpu_time(profile)) {
        out.text(R"("sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"},)");
    }
    const auto heaviest = std::max_element(
        tracks.begin(), tracks.end(),
        [](const FirefoxTrack& a, const FirefoxTrack& b) { return a.total < b.total; });
    out.text(R"("initialSelectedThreads":[)");
    out.number(static_cast<std::uint64_t>(heaviest - tracks.begin())).text("],");
    out.text("\n");
    write_facts(out, profile);
    out.text("\"categories\":");
    tables.write_categories(out);
    out.text("},\n");
}

}  // namespace

Result<void> write_firefox(const Profile& profile, const Sink& sink) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (auto fits = check_total(profile, kMost, "firefox"); !fits) {
        return fits;
    }
    const FirefoxTables tables{profile};
    const std::vector<FirefoxTrack> tracks = firefox_tracks(profile, tables);
    Writer out{sink};
    out.text("{");
    write_meta(out, profile, tables, tracks);
    out.text("\"libs\":");
    tables.write_libs(out);
    out.text(",\n\"pages\":[],\n\"shared\":");
    tables.write_shared(out);
    out.text(",\n\"threads\":[");
    std::string_view before = "\n";
    for (const FirefoxTrack& track : tracks) {
        if (!out.is_good()) {
            break;
        }
        out.text(before);
        write_firefox_track(out, profile, tables, track);
        before = ",\n";
    }
    out.text("]}\n");
    return out.finish();
}

}  // namespace sample::exports

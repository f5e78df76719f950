#include "export/shared/facts.h"

#include "core/text.h"
#include "export/shared/writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#ifndef SAMPLE_VERSION
#error "the build defines SAMPLE_VERSION"
#endif

namespace sample::exports {

namespace {

using callgraph::Profile;
using callgraph::Stats;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 30;

/// Without those whose value is empty.
class Facts {
public:
    void add(std::string label, std::string value) {
        if (!value.empty()) {
            list_.push_back({std::move(label), std::move(value)});
        }
    }
    [[nodiscard]] std::vector<Fact> take() && { return std::move(list_); }

private:
    std::vector<Fact> list_;
};

void add_session(Facts& facts, const Profile& profile, std::size_t most_processes) {
    const Stats& stats = profile.stats;
    facts.add("command", profile.command_line);
    facts.add("session", stats.wall_ns == 0 ? "" : exact_duration(stats.wall_ns));
    facts.add("only", profile.restriction);
    if (stats.process_cpu_ns) {
        facts.add("CPU time by the kernel", exact_duration(*stats.process_cpu_ns));
    }
    for (std::size_t i = 0; i < profile.processes.size(); ++i) {
        if (i == most_processes) {
            facts.add("more processes", std::to_string(profile.processes.size() - i));
            break;
        }
        const callgraph::ProcessTotals& process = profile.processes[i];
        facts.add(fmt::format("process {}", process.pid),
                  (process.command_line.empty() ? process.executable : process.command_line) +
                      (process.ending.empty() ? "" : ", " + process.ending));
    }
    if (profile.is_net) {
        facts.add("net", "durations are without what sampling took" +
                             (stats.gross ? ", " + exact_duration(*stats.gross - *stats.net) +
                                                " of " + exact_duration(*stats.gross)
                                          : ""));
    }
    if (profile.scale != 1.0) {
        facts.add("scale", "\u00d7" + scale_text(profile) +
                               ": durations are multiplied by this, to a span of time that the "
                               "session did not have");
    }
}

void add_sampling(Facts& facts, const Profile& profile) {
    const Stats& stats = profile.stats;
    facts.add("event", profile.event);
    if (!profile.is_time() && stats.period != 0) {
        facts.add("period", stats.period == 1 ? "a sample for each of the " + profile.metric.unit
                                              : "a sample each " + grouped(stats.period) + " " +
                                                    profile.metric.unit);
    }
    facts.add("clock", stats.clock);
    facts.add("source", stats.source_reason.empty() || stats.source.empty()
                            ? stats.source
                            : stats.source + " (" + stats.source_reason + ")");
    std::string rate;
    if (stats.requested_hz != 0) {
        rate = grouped(stats.requested_hz) + " Hz requested";
    }
    if (stats.achieved_hz) {
        rate += fmt::format("{}{:.1f} a second of CPU time achieved", rate.empty() ? "" : ", ",
                            *stats.achieved_hz);
    }
    facts.add("rate", std::move(rate));
}

void add_truth(Facts& facts, const Profile& profile) {
    const Stats& stats = profile.stats;
    if (stats.samples == 0 && stats.source.empty() && stats.sampled == 0) {
        return;  // not known: the profile is another program's, or lost its truth on the way
    }
    facts.add("samples", (stats.counts_samples ? grouped(stats.samples) : "number not known") +
                             ", " + exact_weight(profile, stats.sampled));
    facts.add("booked without a stack", exact_weight(profile, stats.booked));
    facts.add("samples lost", grouped(stats.lost));
    const auto stacks = [&](std::string label, std::uint64_t count, std::uint64_t weight) {
        facts.add(std::move(label),
                  count == 0 ? "0" : grouped(count) + ", " + exact_weight(profile, weight));
    };
    stacks("stacks truncated", stats.truncated_stacks, stats.truncated);
    stacks("stacks incomplete", stats.incomplete_stacks, stats.incomplete);
    stacks("stacks with a guessed frame", stats.guessed_stacks, stats.guessed);
    facts.add("recording", stats.whole ? "whole" : "cut off: its end is missing");
}

void add_further(Facts& facts, const Profile& profile) {
    for (const callgraph::FurtherMetric& each : profile.further) {
        const std::string meaning = each.metric.meaning.empty() ? "" : ", " + each.metric.meaning;
        facts.add("metric " + each.metric.name,
                  exact_weight({profile, each}, each.total()) + meaning);
    }
}

/// Null for what is not known: an optional that is empty, an empty text, the number 0.
template <class T>
Json known(const T& value) {
    return value == T{} ? Json() : Json(value);
}
template <class T>
Json known(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

void add_truth(Json& out, const Profile& profile) {
    const Stats& stats = profile.stats;
    const std::string weight = profile.is_time() ? "_ns" : "_count";
    out["requested_hz"] = known(stats.requested_hz);
    out["achieved_hz"] = known(stats.achieved_hz);
    out["period"] = known(stats.period);
    out["clock"] = known(stats.clock);
    out["source"] = known(stats.source);
    out["wall_ns"] = stats.wall_ns;
    out["process_cpu_ns"] = known(stats.process_cpu_ns);
    out["samples"] = known(stats.known_samples(stats.samples));
    out["sampled" + weight] = stats.sampled;
    out["booked" + weight] = stats.booked;
    out["lost"] = stats.lost;
    out["truncated_stacks"] = stats.truncated_stacks;
    out["truncated" + weight] = stats.truncated;
    out["incomplete_stacks"] = stats.incomplete_stacks;
    out["incomplete" + weight] = stats.incomplete;
    out["guessed_stacks"] = stats.guessed_stacks;
    out["guessed" + weight] = stats.guessed;
    out["whole"] = stats.whole;
    out["notes"] = stats.notes;
}

}  // namespace

std::vector<Fact> facts(const Profile& profile, std::size_t most_processes) {
    Facts facts;
    add_session(facts, profile, most_processes);
    add_sampling(facts, profile);
    add_truth(facts, profile);
    add_further(facts, profile);
    for (const std::string& note : profile.stats.notes) {
        facts.add("note", note);
    }
    return std::move(facts).take();
}

std::vector<std::string> fact_lines(const Profile& profile) {
    std::vector<std::string> lines;
    for (const Fact& fact : facts(profile, kMostLines)) {
        if (fact.label != "command") {
            lines.push_back(one_line(fact.label + ": " + fact.value));
        }
    }
    return lines;
}

std::vector<std::string> thread_lines(const Profile& profile) {
    std::vector<std::string> lines;
    for (const callgraph::ThreadTotals& thread : profile.threads) {
        if (lines.size() == kMostLines) {
            lines.push_back(fmt::format("{} more threads", profile.threads.size() - kMostLines));
            break;
        }
        lines.push_back(one_line(fmt::format(
            "thread: {} {} of process {} {}, {} {}, {} samples", thread.tid, thread.name,
            thread.pid, thread.process, thread.total, unit_of(profile),
            profile.stats.counts_samples ? std::to_string(thread.samples) : "unknown")));
    }
    return lines;
}

std::string facts_json(const Profile& profile) {
    Json out;
    out["command"] = profile.command_line;
    out["start_unix_ms"] = known(profile.start_unix_ms);
    out["end_unix_ms"] = known(profile.end_unix_ms);
    out["event"] = known(profile.event);
    out["unit"] = profile.is_time() ? "nanoseconds" : profile.metric.unit;
    out["scale"] = profile.scale;
    out["net"] = profile.is_net;
    out["restriction"] = known(profile.restriction);
    add_truth(out, profile);
    Json& processes = out["processes"] = Json::array();
    for (const callgraph::ProcessTotals& process : profile.processes) {
        processes.push_back({{"pid", process.pid},
                             {"executable", process.executable},
                             {"command", process.command_line},
                             {"ending", known(process.ending)}});
    }
    Json& modules = out["modules"] = Json::array();
    for (const callgraph::CodeModule& module : profile.modules) {
        modules.push_back({{"name", known(module.name)},
                           {"path", known(module.path)},
                           {"build_id", known(module.build_id)}});
    }
    constexpr int kNoIndent = -1;
    return out.dump(kNoIndent, ' ', false, Json::error_handler_t::replace);
}

std::string creator() {
    return "sample " SAMPLE_VERSION;
}

std::string unit_of(const Profile& profile) {
    return profile.is_time() ? "ns" : profile.metric.unit;
}

std::string scale_text(const Profile& profile) {
    constexpr std::size_t kLongest = 32;
    std::array<char, kLongest> digits{};
    return {digits.data(),
            std::to_chars(digits.data(), digits.data() + digits.size(), profile.scale).ptr};
}

std::string exact_duration(std::uint64_t ns) {
    constexpr std::array<std::pair<std::uint64_t, const char*>, 4> kUnits{
        {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}, {1, " ns"}}};
    const auto* unit = kUnits.begin();
    while (unit->first > ns && unit->first > 1) {
        ++unit;
    }
    return decimal(ns, unit->first) + unit->second;
}

std::string exact_weight(const MetricView& view, std::uint64_t weight) {
    return view.is_time() ? exact_duration(weight) : grouped(weight) + " " + view.metric().unit;
}

std::uint64_t sampling_period_ns(const MetricView& view) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::uint32_t hz = view.is_own() ? view.profile().stats.requested_hz : 0;
    return !view.is_time() || hz == 0 ? 0 : kSecond / hz;
}

Result<void> check_total(const Profile& profile, std::uint64_t most, std::string_view format) {
    if ((profile.nodes.empty() || profile.nodes[0].total <= most) &&
        std::all_of(
            profile.further.begin(), profile.further.end(),
            [most](const callgraph::FurtherMetric& each) { return each.total() <= most; })) {
        return {};
    }
    return unexpected(
        ErrorCode::unsupported,
        fmt::format("{} holds no totals above {}: choose another export format", format, most));
}

}  // namespace sample::exports

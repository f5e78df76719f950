#include "export/recording_facts.h"

#include "export/profile_facts.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace sample::exports {

namespace {

using callgraph::Profile;
using callgraph::Stats;

std::string one_decimal(double value) {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed, 1)
                         .ptr;
    return {digits.data(), end};
}

class Facts {
public:
    void add(std::string label, std::string value) {
        if (!value.empty()) {
            facts_.push_back({std::move(label), std::move(value)});
        }
    }
    void add_count(std::string label, std::uint64_t count) {
        facts_.push_back({std::move(label), grouped(count)});
    }
    [[nodiscard]] std::vector<RecordingFact> take() && { return std::move(facts_); }

private:
    std::vector<RecordingFact> facts_;
};

void add_session(Facts& facts, const Profile& profile, std::size_t most_processes) {
    const Stats& stats = profile.stats;
    facts.add(kCommand, profile.command_line);
    if (stats.wall_ns != 0) {
        facts.add("session", exact_duration(stats.wall_ns));
    }
    if (stats.process_cpu_ns) {
        facts.add("CPU time by the kernel", exact_duration(*stats.process_cpu_ns));
    }
    for (std::size_t i = 0; i < profile.processes.size(); ++i) {
        if (i == most_processes) {
            facts.add("more processes", std::to_string(profile.processes.size() - i));
            break;
        }
        const callgraph::ProcessTotals& process = profile.processes[i];
        std::string value =
            process.command_line.empty() ? process.executable : process.command_line;
        value += process.ending.empty() ? "" : ", " + process.ending;
        facts.add("process " + std::to_string(process.pid), std::move(value));
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
        facts.add("period", stats.period == 1
                                ? "a sample for each of the " + profile.unit
                                : "a sample each " + grouped(stats.period) + " " + profile.unit);
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
        rate += (rate.empty() ? "" : ", ") + one_decimal(*stats.achieved_hz) +
                (stats.clock == "wall" ? " a second achieved" : " a second of CPU time achieved");
    }
    facts.add("rate", std::move(rate));
}

void add_stats(Facts& facts, const Profile& profile) {
    const Stats& stats = profile.stats;
    if (stats.samples == 0 && stats.source.empty() && stats.sampled_ns == 0) {
        return;  // not known: the profile is another program's, or lost its stats on the way
    }
    facts.add("samples",
              grouped(stats.samples) + ", " + exact_duration_or_count(profile, stats.sampled_ns));
    facts.add("booked without a stack", exact_duration_or_count(profile, stats.booked_ns));
    facts.add_count("samples lost", stats.lost);
    const auto stacks = [&](std::string label, std::uint64_t count, std::uint64_t weight) {
        facts.add(
            std::move(label),
            count == 0 ? "0" : grouped(count) + ", " + exact_duration_or_count(profile, weight));
    };
    stacks("stacks truncated", stats.truncated_stacks, stats.truncated_ns);
    stacks("stacks incomplete", stats.incomplete_stacks, stats.incomplete_ns);
    stacks("stacks with a guessed frame", stats.guessed_stacks, stats.guessed_ns);
    facts.add("recording", stats.whole ? "whole" : "cut off: its end is missing");
}

}  // namespace

std::string grouped(std::uint64_t count) {
    std::string digits = std::to_string(count);
    constexpr std::size_t kGroup = 3;
    for (std::size_t at = digits.size(); at > kGroup;) {
        at -= kGroup;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string exact_duration(std::uint64_t ns) {
    struct Unit {
        std::uint64_t ns;
        std::string_view name;
    };
    constexpr std::array kUnits{Unit{1'000'000'000, " s"}, Unit{1'000'000, " ms"},
                                Unit{1'000, " us"}, Unit{1, " ns"}};
    std::size_t at = 0;
    while (at + 1 < kUnits.size() && ns < kUnits[at].ns) {
        ++at;
    }
    const Unit& unit = kUnits[at];
    std::string text = std::to_string(ns / unit.ns);
    if (const std::uint64_t rest = ns % unit.ns; rest != 0) {
        // The 1 in front keeps the fraction's leading zeros.
        std::string fraction = std::to_string(unit.ns + rest);
        fraction.front() = '.';
        fraction.erase(fraction.find_last_not_of('0') + 1);
        text += fraction;
    }
    return text.append(unit.name);
}

std::string exact_duration_or_count(const Profile& profile, std::uint64_t weight) {
    return profile.is_time() ? exact_duration(weight) : grouped(weight) + " " + profile.unit;
}

std::vector<RecordingFact> recording_facts(const Profile& profile, std::size_t most_processes) {
    Facts facts;
    add_session(facts, profile, most_processes);
    add_sampling(facts, profile);
    add_stats(facts, profile);
    for (const std::string& note : profile.stats.notes) {
        facts.add("note", note);
    }
    return std::move(facts).take();
}

}  // namespace sample::exports

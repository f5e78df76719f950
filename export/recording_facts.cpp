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
using callgraph::Truth;

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
    const Truth& truth = profile.truth;
    facts.add(kCommand, profile.command_line);
    if (truth.wall_ns != 0) {
        facts.add("session", exact_duration(truth.wall_ns));
    }
    if (truth.process_cpu_ns) {
        facts.add("CPU time by the kernel", exact_duration(*truth.process_cpu_ns));
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
    const Truth& truth = profile.truth;
    facts.add("event", profile.event);
    if (!profile.is_time() && truth.period != 0) {
        facts.add("period", truth.period == 1
                                ? "a sample for each of the " + profile.unit
                                : "a sample each " + grouped(truth.period) + " " + profile.unit);
    }
    facts.add("clock", truth.clock);
    facts.add("source", truth.source_reason.empty() || truth.source.empty()
                            ? truth.source
                            : truth.source + " (" + truth.source_reason + ")");
    std::string rate;
    if (truth.requested_hz != 0) {
        rate = grouped(truth.requested_hz) + " Hz requested";
    }
    if (truth.achieved_hz) {
        rate += (rate.empty() ? "" : ", ") + one_decimal(*truth.achieved_hz) +
                (truth.clock == "wall" ? " a second achieved" : " a second of CPU time achieved");
    }
    facts.add("rate", std::move(rate));
}

void add_truth(Facts& facts, const Profile& profile) {
    const Truth& truth = profile.truth;
    if (truth.samples == 0 && truth.source.empty() && truth.sampled_ns == 0) {
        return;  // not known: the profile is another program's, or lost its truth on the way
    }
    facts.add("samples",
              grouped(truth.samples) + ", " + exact_duration_or_count(profile, truth.sampled_ns));
    facts.add("booked without a stack", exact_duration_or_count(profile, truth.booked_ns));
    facts.add_count("samples lost", truth.lost);
    const auto stacks = [&](std::string label, std::uint64_t count, std::uint64_t weight) {
        facts.add(
            std::move(label),
            count == 0 ? "0" : grouped(count) + ", " + exact_duration_or_count(profile, weight));
    };
    stacks("stacks truncated", truth.truncated_stacks, truth.truncated_ns);
    stacks("stacks incomplete", truth.incomplete_stacks, truth.incomplete_ns);
    stacks("stacks with a guessed frame", truth.guessed_stacks, truth.guessed_ns);
    facts.add("recording", truth.whole ? "whole" : "cut off: its end is missing");
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
    add_truth(facts, profile);
    for (const std::string& note : profile.truth.notes) {
        facts.add("note", note);
    }
    return std::move(facts).take();
}

}  // namespace sample::exports

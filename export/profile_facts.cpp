#include "export/profile_facts.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#ifndef SAMPLE_VERSION
#error "the build defines SAMPLE_VERSION"
#endif

namespace sample::exports {

namespace {

using callgraph::Profile;
using callgraph::Truth;

/// The shortest text that reads as the same number.
std::string decimal(double value) {
    constexpr std::size_t kLongest = 32;
    std::array<char, kLongest> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

class Lines {
public:
    explicit Lines(const Profile& profile) : profile_{profile}, unit_{unit_of(profile)} {}

    void add(std::string_view line) { lines_.push_back(one_line(line)); }
    /// Nothing for an empty value.
    void add(std::string_view key, std::string_view value) {
        if (!value.empty()) {
            add(std::string{key}.append(": ").append(value));
        }
    }
    void add_count(std::string_view key, std::uint64_t samples, std::uint64_t weight) {
        add(std::string{key} + ": " + std::to_string(samples) + " (" + weight_text(weight) + ")");
    }
    [[nodiscard]] std::string weight_text(std::uint64_t weight) const {
        return std::to_string(weight) + " " + unit_;
    }

    void add_sampling();
    void add_figures();
    void add_processes();
    void add_threads();

    std::vector<std::string> take() && { return std::move(lines_); }

private:
    /// True, and says how many are left, when a list of `size` is long enough; called for each.
    bool is_enough(std::string_view what, std::size_t size) {
        constexpr std::size_t kMost = 30;
        if (listed_++ < kMost) {
            return false;
        }
        add(std::to_string(size - kMost).append(" more ").append(what));
        return true;
    }

    const Profile& profile_;
    std::string unit_;
    std::vector<std::string> lines_;
    std::size_t listed_ = 0;
};

void Lines::add_sampling() {
    const Truth& truth = profile_.truth;
    add("source", truth.source_reason.empty() ? truth.source
                                              : truth.source + " (" + truth.source_reason + ")");
    add("clock", truth.clock);
    add("event", profile_.event);
    if (truth.period != 0) {
        add("period", weight_text(truth.period));
    }
    if (truth.requested_hz != 0) {
        add("requested", std::to_string(truth.requested_hz) + " Hz");
    }
    if (truth.achieved_hz) {
        add("achieved", decimal(*truth.achieved_hz) + " Hz");
    }
}

void Lines::add_figures() {
    const Truth& truth = profile_.truth;
    if (truth.samples == 0 && truth.source.empty()) {
        return;
    }
    if (truth.wall_ns != 0) {
        add("wall time", std::to_string(truth.wall_ns) + " ns");
    }
    if (truth.process_cpu_ns) {
        add("CPU time by the kernel", std::to_string(*truth.process_cpu_ns) + " ns");
    }
    add_count("samples", truth.samples, truth.sampled_ns);
    add("measured without a stack", weight_text(truth.booked_ns));
    add("lost samples", std::to_string(truth.lost));
    add_count("truncated stacks", truth.truncated_stacks, truth.truncated_ns);
    add_count("incomplete stacks", truth.incomplete_stacks, truth.incomplete_ns);
    add_count("guessed stacks", truth.guessed_stacks, truth.guessed_ns);
    add("recording", truth.whole ? "whole" : "cut off, its end is missing");
}

void Lines::add_processes() {
    for (const callgraph::ProcessTotals& process : profile_.processes) {
        if (is_enough("processes", profile_.processes.size())) {
            return;
        }
        std::string line = std::to_string(process.pid) + " " + file_name(process.executable);
        if (process.cpu_ns != 0) {
            line += ", " + std::to_string(process.cpu_ns) + " ns of CPU time";
        }
        add("process", process.ending.empty() ? line : line + ", " + process.ending);
    }
}

void Lines::add_threads() {
    for (const callgraph::ThreadTotals& thread : profile_.threads) {
        if (is_enough("threads", profile_.threads.size())) {
            return;
        }
        add("thread", std::to_string(thread.tid) + " " + thread.name + " of process " +
                          std::to_string(thread.pid) + " " + thread.process + ", " +
                          weight_text(thread.cpu_ns) + ", " + std::to_string(thread.samples) +
                          " samples");
    }
}

}  // namespace

std::string creator() {
    return "sample " SAMPLE_VERSION;
}

std::string unit_of(const Profile& profile) {
    return profile.is_time() ? "ns" : profile.unit;
}

std::string scale_text(const Profile& profile) {
    return decimal(profile.scale);
}

std::string one_line(std::string_view text) {
    constexpr char kDelete = 0x7f;
    std::string line{text};
    for (char& character : line) {
        if ((character >= 0 && character < ' ') || character == kDelete) {
            character = ' ';
        }
    }
    return line;
}

std::vector<std::string> profile_facts(const Profile& profile) {
    Lines lines{profile};
    lines.add_sampling();
    lines.add_figures();
    if (profile.scale != 1.0) {
        lines.add("scaled", "durations of functions and threads, by " + scale_text(profile));
    }
    lines.add_processes();
    for (const std::string& note : profile.truth.notes) {
        lines.add("note", note);
    }
    return std::move(lines).take();
}

std::vector<std::string> thread_facts(const Profile& profile) {
    Lines lines{profile};
    lines.add_threads();
    return std::move(lines).take();
}

}  // namespace sample::exports

#include "export/profile_facts.h"

#include "export/recording_facts.h"
#include "export/utf8.h"

#include <array>
#include <charconv>
#include <cstddef>

#ifndef SAMPLE_VERSION
#error "the build defines SAMPLE_VERSION"
#endif

namespace sample::exports {

namespace {

using callgraph::Profile;

/// The shortest text that reads as the same number.
std::string decimal(double value) {
    constexpr std::size_t kLongest = 32;
    std::array<char, kLongest> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

constexpr std::size_t kMost = 30;

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

std::vector<std::string> profile_facts(const Profile& profile) {
    std::vector<std::string> lines;
    for (const RecordingFact& fact : recording_facts(profile, kMost)) {
        if (fact.label != kCommand) {
            lines.push_back(one_line(fact.label + ": " + fact.value));
        }
    }
    return lines;
}

std::vector<std::string> thread_facts(const Profile& profile) {
    std::vector<std::string> lines;
    for (const callgraph::ThreadTotals& thread : profile.threads) {
        if (lines.size() == kMost) {
            lines.push_back(std::to_string(profile.threads.size() - kMost) + " more threads");
            break;
        }
        lines.push_back(one_line("thread: " + std::to_string(thread.tid) + " " + thread.name +
                                 " of process " + std::to_string(thread.pid) + " " +
                                 thread.process + ", " + std::to_string(thread.cpu_ns) + " " +
                                 unit_of(profile) + ", " + std::to_string(thread.samples) +
                                 " samples"));
    }
    return lines;
}

}  // namespace sample::exports

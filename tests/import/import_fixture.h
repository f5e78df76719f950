// What the tests of the importers look at: functions by name, the sums of a tree, times.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/timeline.h"
#include "import/import.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::imports {

inline constexpr Options kEverything{.times = true, .lines = true};

/// The profile, or an empty one and a failure of the test.
inline callgraph::Profile imported(std::string_view bytes, std::optional<Format> format = {},
                                   const Options& options = {.times = true}) {
    Result<Imported> result = import_profile(bytes, format, options);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result ? std::move(result->profile) : callgraph::Profile{};
}

/// Why it is refused.
inline std::string refusal(std::string_view bytes, std::optional<Format> format = {}) {
    const Result<Imported> result = import_profile(bytes, format, {});
    return result ? "accepted" : result.error().message();
}

inline void expect_refusal(std::string_view bytes, std::optional<Format> format,
                           const std::string& part) {
    EXPECT_NE(refusal(bytes, format).find(part), std::string::npos) << refusal(bytes, format);
}

/// Total and self by name.
using Totals = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
inline Totals totals(const callgraph::Profile& profile) {
    Totals result;
    for (const callgraph::Function& function : profile.functions) {
        EXPECT_TRUE(result.emplace(function.name, std::pair{function.total, function.self}).second)
            << function.name;
    }
    return result;
}

inline const callgraph::Function& function_called(const callgraph::Profile& profile,
                                                  std::string_view name) {
    static const callgraph::Function none;
    for (const callgraph::Function& function : profile.functions) {
        if (function.name == name) {
            return function;
        }
    }
    ADD_FAILURE() << "no function " << name;
    return none;
}

inline const callgraph::Node& node_called(const callgraph::Profile& profile,
                                          std::string_view name) {
    static const callgraph::Node none;
    for (const callgraph::Node& node : profile.nodes) {
        if (!node.function.is_none() && profile.function(node.function).name == name) {
            return node;
        }
    }
    ADD_FAILURE() << "no node " << name;
    return none;
}

/// A thread's samples in full: the name of each one's leaf with its time and weight.
struct Moment {
    std::string leaf;
    std::int64_t time_ns;
    std::uint64_t weight;
    bool operator==(const Moment&) const = default;
};
// NOLINTNEXTLINE(readability-identifier-naming): how GoogleTest finds it
inline void PrintTo(const Moment& moment, std::ostream* out) {
    *out << moment.leaf << " until " << moment.time_ns << ", " << moment.weight;
}
inline std::vector<Moment> moments(const callgraph::Profile& profile, std::size_t thread) {
    std::vector<Moment> result;
    if (!profile.timeline || thread >= profile.timeline->threads.size()) {
        ADD_FAILURE() << "no times of thread " << thread;
        return result;
    }
    callgraph::TimedWeight sample;
    for (auto reader = profile.timeline->threads[thread].samples->read(); reader.next(sample);) {
        const callgraph::Node& node = profile.node(profile.timeline->nodes[sample.place]);
        result.push_back({node.function.is_none() ? "" : profile.function(node.function).name,
                          sample.time_ns, sample.weight});
    }
    return result;
}

inline bool has_note(const callgraph::Profile& profile, std::string_view part) {
    for (const std::string& note : profile.stats.notes) {
        if (note.find(part) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace sample::imports

// A strict validator of the processed profile format, version 66, and the totals that a reader of
// it computes. Knows nothing of the exporter.
//
// Source: firefox-devtools/profiler, src/types/profile.ts, and what its call tree does.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sample::exports {

/// What is wrong with `profile`, one line each, with its place; empty if it is right.
[[nodiscard]] std::vector<std::string> firefox_problems(const nlohmann::json& profile);

struct FirefoxTotals {
    std::int64_t total = 0;  ///< Recursion counted once.
    std::int64_t self = 0;
};

/// By the index of each function that was sampled: of all threads, in nanoseconds, or counts.
/// `profile` must have no problems.
[[nodiscard]] std::map<std::size_t, FirefoxTotals> firefox_totals(const nlohmann::json& profile);

}  // namespace sample::exports

// What the views of zones, frames, counters and messages have in common.
#pragma once

#include "analysis/load_profile.h"
#include "cli/views/table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

/// "1.23 s", "640 us", "52 ns": three digits, floored.
[[nodiscard]] std::string brief_duration(std::uint64_t ns);
/// "1.234567": seconds since the session's start.
[[nodiscard]] std::string when_text(const analysis::ProgramRecording& recording,
                                    std::uint64_t time_ns);
/// The same, as a number of nanoseconds.
[[nodiscard]] std::int64_t when_ns(const analysis::ProgramRecording& recording,
                                   std::uint64_t time_ns);
/// A column of durations for both: `key` in nanoseconds for programs, `heading` for people.
void add_duration(Table& table, const std::string& key, const std::string& heading,
                  const std::function<std::uint64_t(std::size_t row)>& value);
/// A line of bars between `least` and `most`; blank where there is no value.
[[nodiscard]] std::string sparkline(const std::vector<std::optional<double>>& values, double least,
                                    double most, const Terminal& terminal);
/// `part` of `whole` as a bar of at most `width` columns; at least a mark if it is not 0.
[[nodiscard]] std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width,
                              const Terminal& terminal);
/// What stands where none of `things` is shown, and what to do. `recorded`: how many there are, of
/// which none was chosen.
[[nodiscard]] std::string none_of(std::string_view things, std::uint64_t recorded);
/// The lines above a view: the session, and what it is restricted to.
[[nodiscard]] std::string head_of(const callgraph::Profile& session, const Terminal& terminal);

}  // namespace sample::cli

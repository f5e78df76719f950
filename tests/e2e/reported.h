// The functions of a recording as `sample report` has them, for comparison with what other
// programs' readers make of our exports.
#pragma once

#include "session.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace sample::e2e {

/// Figures of one function, or of several that a reader takes for one: self times of those add up,
/// their totals don't.
struct Reported {
    std::uint64_t self = 0;  ///< Microseconds, or a count, as the report has it.
    std::uint64_t total = 0;
    int functions = 0;
    bool operator==(const Reported&) const = default;
};

/// By a reader's name for each: made of source file (or module), module and name.
using ReaderName = std::string (*)(const nlohmann::json& function);

/// `sample report --view functions --json OPTIONS FILE`.
[[nodiscard]] std::map<std::string, Reported> reported_functions(const std::filesystem::path& file,
                                                                 const Words& options,
                                                                 ReaderName name);

/// The function's name, or "source:line", or "<anonymous>".
[[nodiscard]] std::string label_of(const nlohmann::json& function);

/// What a reader shows, in nanoseconds or a count: self and total.
using Shown = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;

/// Whether `options` scale the durations.
[[nodiscard]] bool is_averaged(const Words& options);

/// Every function is shown and none besides; the figures are the report's, which floors
/// nanoseconds to microseconds, if `divisor` is 1000. An average is rounded to nanoseconds in each
/// node, and an export that tells lines has other nodes: `averaged` figures may be one off.
void expect_same_figures(const Shown& shown, const std::map<std::string, Reported>& reported,
                         std::uint64_t divisor, bool averaged = false);

}  // namespace sample::e2e

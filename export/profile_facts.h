// A profile's facts in words, for formats that have comments: who was recorded, how, and how
// trustworthy the figures are.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

/// "sample 0.1.0".
[[nodiscard]] std::string creator();

/// "ns", or what the profile counts.
[[nodiscard]] std::string unit_of(const callgraph::Profile& profile);

/// Profile::scale in digits.
[[nodiscard]] std::string scale_text(const callgraph::Profile& profile);

/// The recording's facts (export/recording_facts.h) as lines like "samples lost: 0", but for the
/// command line. Of many processes the first ones, and how many there are more: readers print all
/// of it above their figures.
[[nodiscard]] std::vector<std::string> profile_facts(const callgraph::Profile& profile);

/// A line for each thread, likewise.
[[nodiscard]] std::vector<std::string> thread_facts(const callgraph::Profile& profile);

}  // namespace sample::exports

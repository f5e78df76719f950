// What a person has to know about a recording before believing its figures, as lines of text: for
// the formats that have a place for such lines.
#pragma once

#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sample::exports {

struct RecordingFact {
    std::string label;
    std::string value;
};

/// The command line, when and for how long, what was sampled by what and how often, and what is
/// known of lost samples and stacks that lack frames. Only what was measured or is known: a profile
/// that came from another program has few. Stats::notes come last, labelled "note". Of more than
/// `most_processes`, so many, and how many there are more. The same as numbers:
/// export/facts_json.h.
[[nodiscard]] std::vector<RecordingFact> recording_facts(
    const callgraph::Profile& profile,
    std::size_t most_processes = std::numeric_limits<std::size_t>::max());

inline constexpr const char* kCommand = "command";  ///< The label of the command line.

/// "1.25 s", "320 ms", "17.5 us", "3 ns": exact.
[[nodiscard]] std::string exact_duration(std::uint64_t ns);

/// A weight of `profile`: such a duration, or a count with the profile's unit.
[[nodiscard]] std::string exact_duration_or_count(const callgraph::Profile& profile,
                                                  std::uint64_t weight);

/// "12,345".
[[nodiscard]] std::string grouped(std::uint64_t count);

}  // namespace sample::exports

// What to know of a profile besides its stacks: who was recorded, how, and how trustworthy the
// figures are.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/shared/metric_view.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

struct Fact {
    std::string label;
    std::string value;
};

/// For formats that have a place for lines of text: the command line, when and for how long, what
/// was sampled by what and how often, and what is known of lost samples and stacks that lack
/// frames. Only what was measured or is known: a profile that came from another program has few.
/// Stats::notes come last, labelled "note". Of more than `most_processes`, so many, and how many
/// there are more.
[[nodiscard]] std::vector<Fact> facts(
    const callgraph::Profile& profile,
    std::size_t most_processes = std::numeric_limits<std::size_t>::max());

/// The same for comments, but for the command line: "samples lost: 0". Of many processes the first
/// ones only: readers print all of it above their figures.
[[nodiscard]] std::vector<std::string> fact_lines(const callgraph::Profile& profile);

/// A line for each thread, likewise.
[[nodiscard]] std::vector<std::string> thread_lines(const callgraph::Profile& profile);

/// For formats that have room for JSON members that their readers skip:
/// {"command": …, "clock": …, "samples": …, "lost": …, …, "processes": […], "modules": […]}, the
/// modules by Function::module. What was not measured is null. Names of durations end in _ns, or in
/// _count where an event was counted. docs/format-speedscope.md lists the members.
[[nodiscard]] std::string facts_json(const callgraph::Profile& profile);

/// "sample 0.1.0".
[[nodiscard]] std::string creator();

/// "ns", or what the profile counts.
[[nodiscard]] std::string unit_of(const callgraph::Profile& profile);

/// Profile::scale in digits: the fewest that read back as the same number.
[[nodiscard]] std::string scale_text(const callgraph::Profile& profile);

/// "1.25 s", "320 ms", "17.5 us", "3 ns": exact.
[[nodiscard]] std::string exact_duration(std::uint64_t ns);

/// A weight of `view`: such a duration, or a count with the metric's unit.
[[nodiscard]] std::string exact_weight(const MetricView& view, std::uint64_t weight);

/// The nanoseconds between samples, as requested; 0 if that is not known, or not of time.
[[nodiscard]] std::uint64_t sampling_period_ns(const MetricView& view);

/// For formats whose numbers end below 2^64: unsupported if the total of any metric of the profile
/// is above `most`, with what to do.
[[nodiscard]] Result<void> check_total(const callgraph::Profile& profile, std::uint64_t most,
                                       std::string_view format);

}  // namespace sample::exports

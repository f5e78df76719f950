// The threads of a Firefox profile: which there are, and the table of samples of each.
//
// A sample's row has the time at which it was taken, its stack, its weight and the CPU time that
// the thread used since the row before. Where the thread was off the processor, a row without stack
// and weight stands one period behind the last sample: else the profiler's charts would draw that
// sample's stack up to the next one.
#pragma once

#include "callgraph/profile.h"
#include "export/firefox/tables.h"
#include "export/shared/metric_view.h"
#include "export/shared/writer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports::firefox {

/// A thread with samples of one metric, or with markers; or a category, in a profile without a
/// timeline.
struct Track {
    explicit Track(const MetricView& of) : view{of} {}

    MetricView view;
    std::optional<std::uint32_t> thread;  ///< Index into Profile::threads.
    std::string name;
    std::string process;
    std::string pid;  ///< Another one, "17.1", for a second program in the process 17.
    std::string tid;  ///< JSON: a number, or a string for one that came before.
    bool is_main = false;
    std::int64_t process_start_ns = 0;
    std::optional<std::int64_t> process_end_ns;
    std::int64_t start_ns = 0;
    std::uint64_t total = 0;  ///< Of its weights.

    const callgraph::SampleSeries* samples = nullptr;
    std::size_t first_place = 0;  ///< Without a timeline: its nodes, by their places in preorder.
    std::size_t end_place = 0;
};

/// Those that have samples in `profile`, or markers, metric by metric in its order; if there are
/// none, one without. Those of further metrics are named after them. They are no main threads: a
/// process of the profiler's has one only.
[[nodiscard]] std::vector<Track> tracks_of(const callgraph::Profile& profile, const Tables& tables);

/// Whether a sample's weight is the CPU time that its thread used since the one before.
[[nodiscard]] bool weighs_cpu_time(const MetricView& view);

/// How the profiler calls what `view` weighs samples by: its WeightType.
[[nodiscard]] std::string_view weight_type(const MetricView& view);

/// An element of threads, with these of the profile's markers.
void write_track(Writer& out, const Tables& tables, const Track& track,
                 const std::vector<std::uint32_t>& markers);

}  // namespace sample::exports::firefox

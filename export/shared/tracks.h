// A profile as formats with a time axis show it: tracks side by side, each a row of slices that do
// not overlap.
//
// With sample times, a track is a thread. A sample that was taken at t and stands for w covers
// [t - w, t]; where that overlaps the slice before, it begins at that one's end and keeps its
// length, so that lengths add up to the profile's totals exactly. Clocks and timers jitter: a pause
// shorter than half a sample is closed by moving the slice to the one before, by less than that
// altogether; longer ones are shown. A booking is a slice like any other, but no sample.
//
// Without times (imports, --average), or where an event is counted instead of time, there is no
// real axis: the axis is the running sum of what was spent, and of what lies on it only the lengths
// mean anything. Then, without a timeline, a track is a category, its nodes in the callgraph's
// order.
#pragma once

#include "callgraph/profile.h"
#include "export/shared/metric_view.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sample::exports {

struct Slice {
    NodeId node;  ///< Never the root, unless the root has time of its own.
    std::int64_t start = 0;
    std::int64_t end = 0;   ///< start + the weight, which is not 0.
    std::int64_t time = 0;  ///< When it was taken; 0 where that is not known. Never goes back.
    std::uint64_t samples = 0;
};

/// Whether samples that stand for nothing are slices, of no length: a clock that read the same
/// twice.
enum class WeightlessSamples : std::uint8_t { left_out, kept };

/// What runs along the tracks.
enum class Axis : std::uint8_t {
    time,   ///< Nanoseconds since the session's start, as measured.
    spent,  ///< The sum of what was spent before, in nanoseconds.
    count,  ///< The sum of what was counted before.
};

[[nodiscard]] Axis axis_of(const MetricView& view);

/// What an axis has room for; a profile with a greater total would lose some of it.
inline constexpr std::int64_t kLongestAxis = std::numeric_limits<std::int64_t>::max() / 4;

/// Whose slices a track has. `thread` is an index into Profile::threads.
struct Track {
    std::optional<std::uint32_t> thread;
    std::string name;     ///< Of the thread or category; may be empty.
    std::string process;  ///< Empty: unknown.
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  ///< 0: unknown, or a category.
    /// `tid`, or, where that is unknown or another track's, too (an exec, an early end), a number
    /// that no kernel gives: no two tracks have the same pid and unique_tid.
    std::uint32_t unique_tid = 0;
    std::size_t first = 0;  ///< Into Timeline::threads, or Tracks' nodes.
    std::size_t count = 0;  ///< Of nodes.
};

/// A thread's samples by time, where they lie nearly so: as they were drained, and what a clock
/// booked as it became known, some a batch too late. Sorting all would need all of them in memory;
/// a window of them is enough.
class TimeOrder {
public:
    explicit TimeOrder(const callgraph::SampleSeries& samples) : samples_{samples.read()} {}

    /// The next sample; false behind the last. One that is further from its place than the window
    /// reaches comes late. O(1) where the order is right.
    bool next(callgraph::TimedWeight& sample);

private:
    callgraph::SampleSeries::Reader samples_;
    std::deque<callgraph::TimedWeight> window_;
};

/// A track's slices, in order; the profile and the Tracks must outlive it, unchanged.
class SliceReader {
public:
    /// False behind the last. Amortised O(1).
    bool next(Slice& slice);

private:
    friend class Tracks;
    SliceReader(const MetricView& view, const callgraph::SampleSeries& samples,
                WeightlessSamples weightless);
    SliceReader(const MetricView& view, const NodeId* first, std::size_t count);

    bool next_sample(Slice& slice);
    bool next_node(Slice& slice);
    void place(Slice& slice, std::int64_t time, std::uint64_t weight);

    MetricView view_;
    std::optional<TimeOrder> samples_;
    const NodeId* node_ = nullptr;
    std::size_t left_ = 0;
    bool has_times_ = false;
    bool keeps_weightless_ = false;
    std::int64_t period_ = std::numeric_limits<std::int64_t>::max();
    std::optional<std::int64_t> end_;                                 ///< Of the latest slice.
    std::int64_t latest_ = std::numeric_limits<std::int64_t>::min();  ///< Slice::time.
};

/// The tracks of a profile's metric, which must outlive this. Those without a slice are among them.
class Tracks {
public:
    explicit Tracks(const MetricView& view);

    [[nodiscard]] const std::vector<Track>& list() const { return tracks_; }
    [[nodiscard]] SliceReader slices(
        const Track& track, WeightlessSamples weightless = WeightlessSamples::left_out) const;

private:
    void add_threads();
    void add_categories();
    void number_apart();

    MetricView view_;
    std::vector<Track> tracks_;
    std::vector<NodeId> nodes_;  ///< In the callgraph's order, where there is no timeline.
};

}  // namespace sample::exports

// What a thread did along time, as counters of a Chrome trace: its samples and its use of a
// processor, interval by interval.
#pragma once

#include "callgraph/profile.h"
#include "export/tracks.h"
#include "export/writer.h"

#include <cstdint>
#include <string>

namespace sample::exports {

/// Writes "C" events, each as ",\n{…}", of intervals with slices and of the first one behind them:
/// about a thousand in the session, of 10 ms at least, and of those that one slice fills the first
/// and the last. A slice counts in each interval by the part
/// of it that lies there, so that a thread never uses more than 100 % of a processor; a sample in
/// the interval where it ends.
class ChromeCounters {
public:
    /// `ids`: the event's pid and tid as JSON members. All must outlive this.
    ChromeCounters(Writer& out, const callgraph::Profile& profile, const std::string& ids,
                   const std::string& thread);

    /// Slices in order, none overlapping another, on Axis::time.
    void add(const Slice& slice);
    void finish();

private:
    void move_to(std::int64_t interval);
    void write(std::int64_t interval) const;
    [[nodiscard]] std::int64_t interval_of(std::int64_t time_ns) const;

    Writer& out_;
    std::int64_t length_ns_;
    bool is_cpu_;  ///< What slices stand for is CPU time.
    std::string begin_;
    std::string cpu_;
    std::string samples_;
    std::int64_t interval_ = 0;
    std::int64_t used_ns_ = 0;
    std::uint64_t taken_ = 0;
    bool has_begun_ = false;
};

}  // namespace sample::exports

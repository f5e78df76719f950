#include "symbolize/elf/interval_index.h"

#include <algorithm>
#include <limits>

namespace sample::symbolize {

void IntervalIndex::add(std::uint64_t start, std::uint64_t end, std::uint32_t value) {
    if (start < end) {
        intervals_.push_back({start, end, value});
    }
}

void IntervalIndex::build() {
    // Of intervals with one start, the one that is to win comes last, and so ends up on top.
    std::sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
        if (a.start != b.start) {
            return a.start < b.start;
        }
        return a.end != b.end ? a.end > b.end : a.value > b.value;
    });
    std::vector<Interval> open;
    for (const Interval& interval : intervals_) {
        close_until(interval.start, open);
        open.push_back(interval);
        segments_.push_back({interval.start, interval.value});
    }
    close_until(std::numeric_limits<std::uint64_t>::max(), open);
    intervals_ = std::vector<Interval>{};  // not `{}`, which keeps the room
}

/// Ends the open intervals that are over at `limit`; what lies below them shows again.
void IntervalIndex::close_until(std::uint64_t limit, std::vector<Interval>& open) {
    while (!open.empty() && open.back().end <= limit) {
        const std::uint64_t end = open.back().end;
        while (!open.empty() && open.back().end <= end) {
            open.pop_back();
        }
        segments_.push_back({end, open.empty() ? std::nullopt : std::optional{open.back().value}});
    }
}

std::optional<std::uint32_t> IntervalIndex::find(std::uint64_t address) const {
    // Of segments with one start the last one counts, and that is the one before upper_bound.
    const auto next = std::upper_bound(
        segments_.begin(), segments_.end(), address,
        [](std::uint64_t value, const Segment& segment) { return value < segment.start; });
    return next == segments_.begin() ? std::nullopt : std::prev(next)->value;
}

}  // namespace sample::symbolize

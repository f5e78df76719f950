#include "export/chrome_counters.h"

#include "export/json_string.h"

#include <algorithm>

namespace sample::exports {

namespace {

constexpr std::uint64_t kIntervals = 1000;
constexpr std::int64_t kLeastNs = 10'000'000;

}  // namespace

ChromeCounters::ChromeCounters(Writer& out, const callgraph::Profile& profile,
                               const std::string& ids, const std::string& thread)
    : out_{out},
      length_ns_{std::max(static_cast<std::int64_t>(profile.stats.wall_ns / kIntervals), kLeastNs)},
      is_cpu_{profile.stats.clock == "cpu"},
      begin_{",\n{\"ph\":\"C\"," + ids + ",\"ts\":"},
      cpu_{",\"name\":" + json_string("CPU %, " + thread) + ",\"args\":{\"CPU %\":"},
      samples_{",\"name\":" + json_string("samples, " + thread) + ",\"args\":{\"samples\":"} {}

void ChromeCounters::add(const Slice& slice) {
    std::int64_t start = slice.start;
    while (start < slice.end) {
        move_to(interval_of(start));
        const std::int64_t end = std::min(slice.end, (interval_ + 1) * length_ns_);
        used_ns_ += end - start;
        start = end;
        // A slice may be longer than any session: what it fills like this interval is one step.
        const std::int64_t last_filled = interval_of(slice.end) - 1;
        if (used_ns_ == length_ns_ && taken_ == 0 && last_filled > interval_) {
            write(interval_);
            interval_ = last_filled;
            start = (last_filled + 1) * length_ns_;
        }
    }
    taken_ += slice.samples;
}

void ChromeCounters::finish() {
    if (has_begun_) {
        move_to(interval_ + 2);
    }
}

/// Counters keep their value until the next one: an interval without slices needs one zero.
void ChromeCounters::move_to(std::int64_t interval) {
    if (has_begun_ && interval == interval_) {
        return;
    }
    if (has_begun_) {
        write(interval_);
        used_ns_ = 0;
        taken_ = 0;
        if (interval > interval_ + 1) {
            write(interval_ + 1);
        }
    }
    interval_ = interval;
    has_begun_ = true;
}

void ChromeCounters::write(std::int64_t interval) const {
    constexpr unsigned kToMicroseconds = 3;
    constexpr std::int64_t kTenthsOfPercent = 1000;
    const std::int64_t time = interval * length_ns_;
    out_.text(begin_).decimal(time, kToMicroseconds).text(samples_).number(taken_).text("}}");
    if (is_cpu_) {
        out_.text(begin_).decimal(time, kToMicroseconds).text(cpu_);
        out_.decimal(used_ns_ / (length_ns_ / kTenthsOfPercent), 1).text("}}");
    }
}

/// Rounded down, also below 0.
std::int64_t ChromeCounters::interval_of(std::int64_t time_ns) const {
    return time_ns / length_ns_ - (time_ns % length_ns_ < 0 ? 1 : 0);
}

}  // namespace sample::exports

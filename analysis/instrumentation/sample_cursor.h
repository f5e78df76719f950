// One thread's samples of one metric, taken as far as a moving time: how what a thread says of
// itself meets what was sampled of it.
#pragma once

#include "callgraph/timeline.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace sample::analysis {

class SampleCursor {
public:
    /// `samples` may be nullptr: there are none.
    explicit SampleCursor(std::shared_ptr<const callgraph::SampleSeries> samples)
        : samples_{std::move(samples)} {
        if (samples_ != nullptr) {
            reader_.emplace(*samples_);
            read();
        }
    }

    /// Visits those that come before `time_ns` (since the session's start) and were not visited. A
    /// booking is at no time of its own, and is visited with what comes before it.
    template <class Visit>
    void until(std::int64_t time_ns, const Visit& visit) {
        while (next_.time_ns < time_ns || next_.is_booking) {
            visit(std::as_const(next_));
            read();
        }
    }
    /// All that are left.
    template <class Visit>
    void to_end(const Visit& visit) {
        until(kNoMore, visit);
    }

private:
    static constexpr std::int64_t kNoMore = std::numeric_limits<std::int64_t>::max();

    void read() {
        if (!reader_->next(next_)) {
            next_ = {kNoMore, 0, 0, false};
        }
    }

    std::shared_ptr<const callgraph::SampleSeries> samples_;
    std::optional<callgraph::SampleSeries::Reader> reader_;
    callgraph::TimedWeight next_{kNoMore, 0, 0, false};
};

}  // namespace sample::analysis

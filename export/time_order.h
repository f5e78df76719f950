// A thread's samples by time, where they lie nearly so.
//
// A recording has a thread's samples as they were drained, and what a clock booked as it became
// known: some entries come a batch too late. Sorting all would need all of them in memory; a window
// of them is enough.
#pragma once

#include "callgraph/timeline.h"

#include <array>
#include <cstddef>

namespace sample::exports {

class TimeOrder {
public:
    explicit TimeOrder(const callgraph::SampleSeries& samples) : samples_{samples.read()} {}

    /// The next sample; false behind the last. One that is further from its place than the window
    /// reaches comes late. O(1) where the order is right.
    bool next(callgraph::TimedWeight& sample) {
        callgraph::TimedWeight read;
        while (count_ < kWindow && samples_.next(read)) {
            insert(read);
        }
        if (count_ == 0) {
            return false;
        }
        sample = at(0);
        ++first_;
        --count_;
        return true;
    }

private:
    static constexpr std::size_t kWindow = 512;  ///< Of a batch of 20 ms at 10 kHz there are 200.

    callgraph::TimedWeight& at(std::size_t index) { return window_[(first_ + index) % kWindow]; }

    void insert(const callgraph::TimedWeight& sample) {
        std::size_t place = count_++;
        for (; place != 0 && at(place - 1).time_ns > sample.time_ns; --place) {
            at(place) = at(place - 1);
        }
        at(place) = sample;
    }

    callgraph::SampleSeries::Reader samples_;
    std::array<callgraph::TimedWeight, kWindow> window_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace sample::exports

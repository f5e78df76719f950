// How long samples took, from entry to exit of the handler by the time stamp counter: with what
// else got the processor meanwhile, which cannot be told apart without a system call.
#pragma once

#include "sampler/capture/shared_area.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace sample::collector {

/// Samples by capture::histogram_class().
using HandlerHistogram = std::array<std::uint64_t, capture::kHistogramClasses>;

inline void add_to(HandlerHistogram& sum, const HandlerHistogram& other) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += other[i];
    }
}

/// 99 of 100 took no longer than so many ticks: the class's upper bound, never better than it was.
/// 0: there were none.
[[nodiscard]] inline std::uint64_t percentile_99(const HandlerHistogram& histogram) {
    const std::uint64_t count =
        std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < histogram.size(); ++i) {
        seen += histogram[i];
        if (count != 0 && seen * 100 >= count * 99) {
            return capture::histogram_floor(i + 1);
        }
    }
    return 0;
}

/// What a sample takes of its thread's time, in ticks: the mean of those that took no more than ten
/// times the median. In those that took longer somebody else had the processor. 0: there were none.
[[nodiscard]] inline std::uint64_t usual_time(const HandlerHistogram& histogram) {
    constexpr std::uint64_t kMostTimes = 10;
    const std::uint64_t count =
        std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
    std::uint64_t most = UINT64_MAX;
    std::uint64_t seen = 0;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < histogram.size() && capture::histogram_floor(i) <= most; ++i) {
        const std::uint64_t middle =
            (capture::histogram_floor(i) + capture::histogram_floor(i + 1)) / 2;
        seen += histogram[i];
        sum += histogram[i] * middle;
        if (most == UINT64_MAX && seen != 0 && seen * 2 >= count) {
            most = kMostTimes * middle;
        }
    }
    return seen == 0 ? 0 : sum / seen;
}

}  // namespace sample::collector

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

}  // namespace sample::collector

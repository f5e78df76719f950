#include "analysis/instrumentation/duration_histogram.h"

#include <algorithm>
#include <cmath>

namespace sample::analysis {

void DurationHistogram::make_room(std::size_t octave) {
    if (counts_.empty()) {
        first_octave_ = octave;
    }
    if (octave < first_octave_) {
        counts_.insert(counts_.begin(), (first_octave_ - octave) * kBuckets, 0);
        first_octave_ = octave;
    }
    counts_.resize(std::max(counts_.size(), (octave - first_octave_ + 1) * kBuckets));
}

DurationHistogram::Bucket DurationHistogram::bucket(std::size_t index) const {
    const std::size_t octave = first_octave_ + index / kBuckets;
    const std::size_t shift = octave == 0 ? 0 : octave - 1;
    const std::uint64_t digits = index % kBuckets + (octave == 0 ? 0 : kBuckets);
    const std::uint64_t from_ns = digits << shift;
    const std::uint64_t width = std::uint64_t{1} << shift;
    const bool is_last = from_ns > UINT64_MAX - width;
    return {from_ns, is_last ? UINT64_MAX : from_ns + width, counts_[index]};
}

std::uint64_t DurationHistogram::quantile(double share) const {
    const double wanted = std::ceil(share * static_cast<double>(count_));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        seen += counts_[i];
        if (seen >= rank) {
            const Bucket found = bucket(i);
            const std::uint64_t middle = found.from_ns + (found.to_ns - found.from_ns) / 2;
            return std::clamp(middle, min_ns_, max_ns_);
        }
    }
    return max_ns_;
}

std::vector<DurationHistogram::Bucket> DurationHistogram::buckets() const {
    std::vector<Bucket> all;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] != 0) {
            all.push_back(bucket(i));
        }
    }
    return all;
}

}  // namespace sample::analysis

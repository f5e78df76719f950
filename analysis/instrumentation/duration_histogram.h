// How often which duration came, for percentiles of any number of values in little memory.
//
// Buckets are log-linear, as in HdrHistogram: each power of two is cut into 64 of equal width. A
// value below 128 ns has a bucket of its own; of greater ones, the middle of a bucket is at most
// 1/128 away from anything in it. So whatever is read from here is wrong by 0.8 % at most. An
// octave that has values takes 512 bytes; most places in a program need three to ten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sample::analysis {

class DurationHistogram {
public:
    /// Of quantile(), relative.
    static constexpr double kGreatestError = 1.0 / 128;

    struct Bucket {
        std::uint64_t from_ns = 0;
        std::uint64_t to_ns = 0;  ///< Exclusive; the greatest number of all is in the last one.
        std::uint64_t count = 0;
    };

    /// O(1); allocates only for the first value of an octave.
    void add(std::uint64_t ns) {
        const std::size_t octave = octave_of(ns);
        if (octave - first_octave_ >= counts_.size() / kBuckets) {
            make_room(octave);
        }
        ++counts_[(octave - first_octave_) * kBuckets + bucket_of(ns, octave)];
        ++count_;
        sum_ns_ += ns;
        min_ns_ = ns < min_ns_ ? ns : min_ns_;
        max_ns_ = ns > max_ns_ ? ns : max_ns_;
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_ns_; }
    /// 0 if there are no values, as for the next three.
    [[nodiscard]] std::uint64_t min_ns() const noexcept { return count_ == 0 ? 0 : min_ns_; }
    [[nodiscard]] std::uint64_t max_ns() const noexcept { return max_ns_; }
    [[nodiscard]] std::uint64_t mean_ns() const noexcept {
        return count_ == 0 ? 0 : sum_ns_ / count_;
    }
    /// The least value that at least `share` (0 to 1) of all are not above, up to kGreatestError.
    [[nodiscard]] std::uint64_t quantile(double share) const;
    /// Those that are not empty, ascending.
    [[nodiscard]] std::vector<Bucket> buckets() const;

private:
    static constexpr std::size_t kBucketBits = 6;
    static constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;

    /// 0 has the values below 64, 1 those below 128, and so on.
    static std::size_t octave_of(std::uint64_t ns) {
        constexpr int kBits = 64;
        return static_cast<std::size_t>(kBits - static_cast<int>(kBucketBits) -
                                        __builtin_clzll(ns | (kBuckets - 1)));
    }
    static std::size_t bucket_of(std::uint64_t ns, std::size_t octave) {
        return static_cast<std::size_t>(ns >> (octave == 0 ? 0 : octave - 1)) & (kBuckets - 1);
    }
    [[nodiscard]] Bucket bucket(std::size_t index) const;
    void make_room(std::size_t octave);

    std::size_t first_octave_ = 0;  ///< Of counts_.
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t sum_ns_ = 0;
    std::uint64_t min_ns_ = UINT64_MAX;
    std::uint64_t max_ns_ = 0;
};

}  // namespace sample::analysis

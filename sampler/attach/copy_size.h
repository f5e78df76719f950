// How much of a stack the kernel copies at each sample, which takes the interrupted thread its
// time: as much as stacks were seen to need, with some to spare.
//
// A recording begins with the most. Once enough stacks in a row were whole with less, that much is
// copied. When one is cut off, it is the most again, and the next try needs many more stacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sample::attach {

/// Not thread-safe.
class CopySize {
public:
    /// So many stacks have to be whole before less is copied for the first time.
    static constexpr std::uint32_t kFirstTry = 250;

    /// A stack was walked to its root, or its copy had ended before. True: find out how much of the
    /// copy it needs, by needed() and need_more().
    [[nodiscard]] bool tell(bool is_whole, bool is_cut_off) {
        has_cut_off_ = has_cut_off_ || is_cut_off;
        whole_ += is_whole ? 1 : 0;
        // A thread's stacks are alike: some of them tell enough.
        constexpr std::uint32_t kOneIn = 4;
        return is_whole && whole_ % kOneIn == 0;
    }
    /// So many bytes were enough for those that were looked at.
    [[nodiscard]] std::uint32_t needed() const { return kSizes[step_]; }
    /// But not for this one. False: it needs the whole.
    [[nodiscard]] bool need_more() {
        step_ = std::min(step_ + 1, kSizes.size() - 1);
        return step_ + 1 < kSizes.size();
    }

    /// The size that copies should have, if not `now`'s; `most` is what they may have.
    [[nodiscard]] std::optional<std::uint32_t> change(std::uint32_t now, std::uint32_t most) {
        if (has_cut_off_ && now < most) {
            constexpr std::uint32_t kLongest = 1U << 30U;
            constexpr std::uint32_t kPatience = 64;
            wanted_whole_ = std::min(wanted_whole_ * kPatience, kLongest);
            begin_anew();
            return most;
        }
        has_cut_off_ = false;  // there is no more to be had
        if (whole_ < wanted_whole_) {
            return std::nullopt;
        }
        const std::uint32_t enough = kSizes[std::min(step_ + 1, kSizes.size() - 1)];
        begin_anew();
        return enough < now ? std::optional{enough} : std::nullopt;
    }

private:
    static constexpr std::array<std::uint32_t, 9> kSizes{1024, 2048,  3072,  4096, 6144,
                                                         8192, 12288, 16384, 32768};

    void begin_anew() {
        whole_ = 0;
        step_ = 0;
        has_cut_off_ = false;
    }

    std::uint32_t wanted_whole_ = kFirstTry;
    std::uint32_t whole_ = 0;
    std::size_t step_ = 0;  ///< Of kSizes.
    bool has_cut_off_ = false;
};

}  // namespace sample::attach

// Where in its period each look of the sampling thread comes: anywhere, so as not to keep step with
// what the program repeats.
//
// Evenly so where threads keep running, which chance alone takes many more samples for: in steps of
// the golden ratio, from a random place each time anew. Not where they sleep: even steps drift
// through what a thread does from one sleep to the next, and the part of it that they meet first
// stands for the looks that found it asleep. Plain arithmetic.
#pragma once

#include <cstdint>

namespace sample::source {

class LookPlaces {
public:
    /// In one row.
    static constexpr std::uint64_t kEvenSteps = 64;
    /// So many after the last thread that sleeps has run. Longer than such a one mostly sleeps.
    static constexpr std::uint64_t kUnevenSteps = 1024;

    /// Of 2^32; so is `random`.
    [[nodiscard]] std::uint32_t next(std::uint32_t random) noexcept {
        constexpr std::uint32_t kGoldenStep = 0x9e3779b9;
        const bool is_even = looks_ >= even_from_ && looks_ % kEvenSteps != 0;
        ++looks_;
        place_ = is_even ? place_ + kGoldenStep : random;
        return place_;
    }
    /// The last look found that a thread had run that sleeps, too.
    void met_sleeper() noexcept { even_from_ = looks_ + kUnevenSteps; }

private:
    std::uint64_t looks_ = 0;
    std::uint64_t even_from_ = 0;
    std::uint32_t place_ = 0;
};

}  // namespace sample::source

#include "trace/cycle_clock.h"

namespace sample::trace {

CycleClock::CycleClock(std::uint64_t start, std::uint64_t frequency)
    : start_{start}, frequency_{frequency} {
    constexpr unsigned kMostShift = 96;  // 10^9 has 30 bits.
    const Wide cycles = frequency == 0 ? kNsPerSecond : frequency;
    shift_ = kMostShift;
    const auto factor = [&] { return ((Wide{kNsPerSecond} << shift_) + cycles - 1) / cycles; };
    while (factor() >= Wide{1} << 63) {
        --shift_;
    }
    factor_ = static_cast<std::uint64_t>(factor());
}

}  // namespace sample::trace

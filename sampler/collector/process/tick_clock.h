// Time stamp counter ticks to CLOCK_MONOTONIC nanoseconds.
//
// A line through two readings of both clocks: the session's first one and the latest. The longer
// the session, the more exact; never more than the two readings' own distance (tens of ns) off.
// Needs an invariant counter. One thread updates it; thread-safe otherwise.
// Source: Intel SDM volume 3, 18.17.1 Invariant TSC.
#pragma once

#include <atomic>
#include <cstdint>

namespace sample::collector {

class TickClock {
public:
    /// Takes the first reading and, a few milliseconds later, the second.
    TickClock();

    /// Takes a reading; later conversions are as exact as it is far from the first one.
    void update();

    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const;
    [[nodiscard]] double ticks_per_ns() const { return ticks_per_ns_; }
    /// False: the counter may stop or change its pace; then ticks cannot be trusted on this
    /// machine.
    [[nodiscard]] static bool is_invariant();

private:
    struct Reading {
        std::uint64_t ticks = 0;
        std::uint64_t ns = 0;
    };
    static Reading read_both();

    Reading first_;
    std::atomic<double> ticks_per_ns_ = 1.0;
};

[[nodiscard]] std::uint64_t monotonic_ns();
[[nodiscard]] std::uint64_t realtime_ns();

}  // namespace sample::collector

// Time stamp counter ticks to CLOCK_MONOTONIC nanoseconds.
//
// A line through two readings of both clocks: the session's first one and the latest. The longer
// the session, the more exact; never more than the two readings' own distance (a system call) off.
// Needs an invariant counter. One thread updates it; thread-safe otherwise.
// Source: Intel SDM volume 3, 18.17.1 Invariant TSC.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace sample::collector {

class TickClock {
public:
    /// Takes the first reading and, a few milliseconds later, the second.
    TickClock();
    /// For times that are CLOCK_MONOTONIC's already: a tick is a nanosecond of it.
    struct OfNanoseconds {};
    explicit TickClock(OfNanoseconds /*tag*/);

    /// Takes a reading; later conversions are as exact as it is far from the first one. Not for
    /// ticks that are nanoseconds.
    void update();

    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const;
    /// So long as so many ticks.
    [[nodiscard]] std::uint64_t ns_of(std::uint64_t ticks) const {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns_);
    }
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

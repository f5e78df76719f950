// Which threads the sampling thread interrupts: those that used a period of CPU time since they
// were last interrupted, and are awake.
//
// A thread that sleeps is left alone, since a signal would make its system call return EINTR. One
// that mostly sleeps is likely to be on its way to sleep when it is met awake, which comes to the
// same; so it is asked of such a thread that more time has gathered. Nothing is lost by waiting: a
// sample stands for all the CPU time since the last one.
//
// Plain arithmetic. Async-signal-safe.
#pragma once

#include <bit>
#include <cstdint>

namespace sample::source {

class InterruptChoice {
public:
    /// Of a thread that was never looked at; it is first interrupted when it has used a period less
    /// `ahead_ns`. Random, so that of threads shorter than a period each has its chance.
    constexpr explicit InterruptChoice(std::uint64_t ahead_ns = 0) noexcept
        : interrupted_ns_{0 - ahead_ns} {}

    /// The thread's clock at this check. True: it has run since the last one.
    [[nodiscard]] bool check(std::uint64_t cpu_ns) noexcept {
        if (cpu_ns < seen_ns_) {  // another thread under the same id
            *this = InterruptChoice{};
        }
        const bool ran = cpu_ns != seen_ns_;
        seen_ns_ = cpu_ns;
        return ran;
    }

    /// Whether the thread would be interrupted if it is awake.
    [[nodiscard]] bool is_due(std::uint64_t period_ns) const noexcept {
        const std::uint64_t periods = mostly_sleeps() ? kPatience : 1;
        // The ticks come irregularly: one that comes a little early counts.
        return (seen_ns_ - interrupted_ns_) * 4 >= periods * period_ns * 3;
    }

    /// What it did when it was met after it had run.
    void met(bool awake) noexcept {
        met_asleep_ = static_cast<std::uint8_t>(met_asleep_ << 1U | (awake ? 0U : 1U));
    }
    void interrupted() noexcept { interrupted_ns_ = seen_ns_; }

    [[nodiscard]] std::uint64_t cpu_ns() const noexcept { return seen_ns_; }

private:
    static constexpr std::uint64_t kPatience = 8;
    [[nodiscard]] bool mostly_sleeps() const noexcept { return std::popcount(met_asleep_) > 4; }

    std::uint64_t seen_ns_ = 0;
    std::uint64_t interrupted_ns_;  ///< May be below zero: differences wrap around rightly.
    std::uint8_t met_asleep_ = 0;   ///< The last eight meetings, a bit each.
};

}  // namespace sample::source

// How long the sampling thread waits between two looks, so that it spends little of what the
// program spends, and next to nothing on a program that does nothing.
//
// Samples say what they stand for, so that nothing depends on how many looks there are. Plain
// arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sample::source {

/// What there was at one look.
struct Look {
    std::uint64_t now_ns = 0;
    std::uint64_t own_ns = 0;      ///< CPU time so far, of the sampling thread,
    std::uint64_t program_ns = 0;  ///< and of the program without it.
    std::uint64_t ran_ns = 0;      ///< That the program's threads have run since the look before.
};

class Pace {
public:
    /// It spends at most this part of what the program spends, as far as one of both holds: the
    /// period is doubled so often at most, and who can rests.
    static constexpr std::uint64_t kOwnShare = 10;
    static constexpr unsigned kMostDoublings = 3;
    static constexpr std::uint64_t kJudgedNs = 50'000'000;
    /// For a program that runs this part of the time it does not rest.
    static constexpr std::uint64_t kBusyPart = 4;
    /// What was spent too much, or may yet be, is forgotten beyond this.
    static constexpr std::int64_t kMostCreditNs = 1'000'000;
    /// A timer that ends a rest early expires at the scheduler's ticks: with CONFIG_HZ=250 so far
    /// apart.
    static constexpr std::uint64_t kTickNs = 4'000'000;
    /// Who looks for where threads wait knows how long but for this part of it: nobody has paid for
    /// these looks.
    static constexpr std::uint64_t kWaitPart = 64;
    static constexpr std::uint64_t kMostWaitRestNs = 100'000'000;
    /// A program's last thread may end without a word.
    static constexpr std::uint64_t kMostRestNs = 1'000'000'000;

    constexpr explicit Pace(const Look& first = {}) noexcept
        : last_{first}, judged_{first}, ran_at_ns_{first.now_ns} {}

    void looked(const Look& look, std::uint64_t period_ns) noexcept {
        const std::uint64_t passed = look.now_ns - last_.now_ns;
        // The clocks are not read at one moment: the program's may seem to go back.
        const std::uint64_t program_ns = std::max(look.program_ns, last_.program_ns);
        credit_ns_ += static_cast<std::int64_t>((program_ns - last_.program_ns) / kOwnShare) -
                      static_cast<std::int64_t>(look.own_ns - last_.own_ns);
        credit_ns_ = std::clamp(credit_ns_, -kMostCreditNs, kMostCreditNs);
        last_ = look;
        last_.program_ns = program_ns;
        // One that runs now and then is met by looks that come more often than ticks.
        const bool is_met = look.ran_ns != 0 && period_ns << kMostDoublings < kTickNs;
        if (credit_ns_ >= 0 || is_met || look.ran_ns * kBusyPart >= passed) {
            rest_ns_ = 0;
        } else {
            rest_ns_ = std::min(2 * std::max(rest_ns_, period_ns), kMostRestNs);
            if (look.ran_ns != 0) {  // until it will have run for a period, if it goes on like this
                rest_ns_ = std::min(rest_ns_, passed * period_ns / look.ran_ns);
            }
        }
        if (look.now_ns >= judged_.now_ns + kJudgedNs) {
            judge();
        }
    }

    /// The same of who looks for where threads wait.
    void looked_for_waits(const Look& look) noexcept {
        ran_at_ns_ = look.ran_ns != 0 ? look.now_ns : ran_at_ns_;
        rest_ns_ = std::min((look.now_ns - ran_at_ns_) / kWaitPart, kMostWaitRestNs);
    }

    [[nodiscard]] const Look& last() const noexcept { return last_; }
    /// From one look to the next, of who cannot rest.
    [[nodiscard]] std::uint64_t wait_ns(std::uint64_t period_ns) const noexcept {
        return period_ns << doublings_;
    }
    /// The same of who can, where it may be longer.
    [[nodiscard]] std::uint64_t rest_ns() const noexcept { return rest_ns_; }

private:
    void judge() noexcept {
        const std::uint64_t spent = (last_.own_ns - judged_.own_ns) * kOwnShare;
        const std::uint64_t programs = last_.program_ns - judged_.program_ns;
        judged_ = last_;
        if (spent > programs && doublings_ < kMostDoublings) {
            ++doublings_;
        } else if (spent * 4 < programs && doublings_ > 0) {
            --doublings_;
        }
    }

    Look last_;
    Look judged_;
    std::int64_t credit_ns_ = 0;
    std::uint64_t rest_ns_ = 0;  ///< Not 0: looks have not been paid for lately.
    unsigned doublings_ = 0;
    std::uint64_t ran_at_ns_;  ///< The last look that found that a thread had run.
};

}  // namespace sample::source

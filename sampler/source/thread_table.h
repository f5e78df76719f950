// What the sampling thread knows of each thread of the process, kept in the order of /proc's
// listing, which is the order in which the threads were made: one pass merges both.
//
// Fixed room, no allocation. One owner.
#pragma once

#include "sampler/capture/shared_area.h"
#include "sampler/capture/thread_state.h"
#include "sampler/capture/weight.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sample::source {

/// Which threads the sampling thread interrupts: those that used a period of CPU time since they
/// were last interrupted, and are awake.
///
/// A thread that sleeps is left alone, since a signal would make its system call return EINTR. So
/// would one that meets it on its way to sleep, some microseconds of CPU time a call: what share of
/// calls that cuts short is those microseconds times the rate of signals. Therefore a thread that
/// sleeps at all is interrupted at most once in kPatienceNs of its CPU time. Nothing is lost by
/// waiting: a sample stands for all the looks since the last one. Both are counted in periods that
/// are over, not in what the clock says at the look, which depends on where in its period that is:
/// of work in step with the looks, the same part would be left out each time.
///
/// Plain arithmetic.
class InterruptChoice {
public:
    /// A few microseconds are less than one in a hundred of it.
    static constexpr std::uint64_t kPatienceNs = 2'000'000;

    /// Of a thread that was never looked at; it is first interrupted when it has used a period less
    /// `ahead_ns`. Random, so that of threads shorter than a period each has its chance.
    constexpr explicit InterruptChoice(std::uint64_t ahead_ns = 0) noexcept
        : interrupted_ns_{0 - ahead_ns} {}

    /// The thread's clock at this look, which comes `into_ns` after its period began. How long it
    /// has run since the last one.
    [[nodiscard]] std::uint64_t check(std::uint64_t cpu_ns, std::uint64_t into_ns = 0) noexcept {
        if (cpu_ns < cpu_ns_) {  // another thread under the same id
            *this = InterruptChoice{};
        }
        const bool is_first = cpu_ns_ == 0;
        const std::uint64_t ran_ns = cpu_ns - cpu_ns_;
        cpu_ns_ = cpu_ns;
        looked_ns_ = is_first ? cpu_ns : capture::looked_until(cpu_ns, ran_ns, into_ns);
        return ran_ns;
    }

    /// Whether it is time to find out how much the thread sleeps.
    [[nodiscard]] bool wants_window(std::uint64_t now_ns) const noexcept {
        return now_ns >= window_end_ns_;
    }
    /// `processor_wait_ns`: how long it has waited for a processor since it began. Neither that nor
    /// CPU time is sleep.
    void end_window(std::uint64_t now_ns, std::uint64_t processor_wait_ns) noexcept {
        const std::uint64_t passed = now_ns - window_start_ns_;
        const std::uint64_t awake =
            cpu_ns_ - window_cpu_ns_ + processor_wait_ns - window_processor_wait_ns_;
        const bool is_first = window_end_ns_ == 0;
        keeps_running_ = !is_first && awake + passed / kLeastSleepPart >= passed;
        window_end_ns_ = now_ns + (is_first ? kFirstWindowNs : kWindowNs);
        window_start_ns_ = now_ns;
        window_cpu_ns_ = cpu_ns_;
        window_processor_wait_ns_ = processor_wait_ns;
    }

    /// Whether the thread would be interrupted if it is awake.
    [[nodiscard]] bool is_due(std::uint64_t period_ns) const noexcept {
        const std::uint64_t wanted =
            !keeps_running_ && period_ns < kPatienceNs ? kPatienceNs : period_ns;
        // Also of a thread that ran for a part of the time.
        return (looked_ns_ - interrupted_ns_) * 2 >= wanted;
    }
    /// Whether it has to be met on a processor: one that waits for a processor may just have been
    /// woken inside a system call. Not for ever: with one processor it is never met there.
    [[nodiscard]] bool must_be_running() const noexcept {
        return !keeps_running_ && cpu_ns_ - interrupted_ns_ < 4 * kPatienceNs;
    }
    void interrupted() noexcept { interrupted_ns_ = looked_ns_; }

    [[nodiscard]] std::uint64_t cpu_ns() const noexcept { return cpu_ns_; }
    /// Of that, what this look and those before it stand for.
    [[nodiscard]] std::uint64_t looked_ns() const noexcept { return looked_ns_; }

private:
    static constexpr std::uint64_t kFirstWindowNs = 5'000'000;
    static constexpr std::uint64_t kWindowNs = 50'000'000;
    /// Less than this part of a window asleep is the clocks' difference.
    static constexpr std::uint64_t kLeastSleepPart = 50;

    std::uint64_t cpu_ns_ = 0;
    std::uint64_t looked_ns_ = 0;
    std::uint64_t interrupted_ns_;  ///< May be below zero: differences wrap around rightly.
    std::uint64_t window_start_ns_ = 0;
    std::uint64_t window_end_ns_ = 0;
    std::uint64_t window_cpu_ns_ = 0;
    std::uint64_t window_processor_wait_ns_ = 0;
    bool keeps_running_ = false;
};

/// How a thread's waiting was last reported.
struct WaitProgress {
    std::uint64_t unchanged_ticks = 0;  ///< The last time it was seen to wait as reported.
    std::uint64_t reported_ticks = 0;   ///< The last record's.
    std::uint64_t cpu_ns = 0;           ///< The thread's clock as long as it waits.
    bool waits = false;                 ///< Its stack was taken, and its clock has not moved since.
};

struct WatchedThread {
    int tid = 0;
    std::uint32_t idle_checks = 0;  ///< One after the other that found its clock unmoved.
    std::uint64_t next_check = 0;   ///< The tick from which on it is looked at.
    InterruptChoice choice;
    WaitProgress wait;
    capture::ThreadState* state = nullptr;  ///< As far as it is known.
    std::uint64_t owes_since_ns = 0;        ///< Its clock when it came to owe a sample.
};

class ThreadTable {
public:
    static constexpr std::size_t kMaxThreads = capture::kMaxThreads;

    void clear() noexcept { count_ = 0; }
    [[nodiscard]] std::span<WatchedThread> threads() noexcept { return {current(), count_}; }

    /// Between begin_listing() and end_listing(): each thread, in the listing's order. What was
    /// known of it is kept; a new one is as `make(tid)` says. `gone(thread)` is called for those
    /// that are no longer listed. False: no room for more.
    void begin_listing() noexcept {
        listed_ = 0;
        next_ = 0;
    }
    template <class Make, class Gone>
    [[nodiscard]] bool list(int tid, Make make, Gone gone) noexcept {
        if (listed_ == kMaxThreads) {
            return false;
        }
        std::size_t at = next_;
        while (at < count_ && current()[at].tid != tid) {
            ++at;
        }
        if (at < count_) {
            for (; next_ < at; ++next_) {
                gone(current()[next_]);
            }
            next_ = at + 1;
            other()[listed_++] = current()[at];
        } else {
            other()[listed_++] = make(tid);
        }
        return true;
    }
    template <class Gone>
    void end_listing(Gone gone) noexcept {
        for (; next_ < count_; ++next_) {
            gone(current()[next_]);
        }
        count_ = listed_;
        flipped_ = !flipped_;
    }

private:
    [[nodiscard]] WatchedThread* current() noexcept { return sides_[flipped_ ? 1 : 0].data(); }
    [[nodiscard]] WatchedThread* other() noexcept { return sides_[flipped_ ? 0 : 1].data(); }

    std::array<std::array<WatchedThread, kMaxThreads>, 2> sides_;
    std::size_t count_ = 0;
    std::size_t listed_ = 0;
    std::size_t next_ = 0;
    bool flipped_ = false;
};

}  // namespace sample::source

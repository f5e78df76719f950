// What the sampling thread knows of each thread of the process, kept in the order of /proc's
// listing, which is the order in which the threads were made: one pass merges both.
//
// Its memory is mapped as threads come, and unmapped by release(): most processes have few. One
// owner.
#pragma once

#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/shared_area.h"
#include "sampler/capture/thread_state.h"
#include "sampler/capture/weight.h"
#include "sampler/source/tasks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace sample::source {

/// Of a thread's samples that the sampling thread asked for, since it began.
struct AskedSamples {
    std::uint32_t all = 0;
    std::uint32_t at_calls = 0;
};

/// Which threads the sampling thread interrupts: those that used a period of CPU time since they
/// were last interrupted, and are awake.
///
/// A thread that sleeps is left alone, since a signal would make its system call return EINTR. So
/// would one that meets it on its way to sleep. And what comes between sending a signal and its
/// arrival is longer than what such a thread may do from one sleep to the next. Therefore one that
/// sleeps at all is met by visits (SamplingLoop), which cost more than a look, once in kPatienceNs
/// of its CPU time on average. Nothing is lost by waiting: a sample stands for all the looks since
/// the last one. Each look has the same chance, whatever came before: what counts from the last
/// interruption keeps step with what the thread does from one sleep to the next, and meets one part
/// of it.
///
/// So is one that never sleeps, and is often found at system calls: a signal that is on its way
/// stops it at the end of the next one, wherever it was when the signal was sent. But where there
/// are many such, which would be visited seldom.
///
/// Time is counted in periods that are over, not in what the clock says at the look, which depends
/// on where in its period that is: of work in step with the looks, the same part would be left out
/// each time.
///
/// Plain arithmetic.
class InterruptChoice {
public:
    static constexpr std::uint64_t kPatienceNs = 2'000'000;

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
    /// Neither CPU time nor waiting for a processor is sleep.
    void end_window(std::uint64_t now_ns, const ScheduleCounts& counts,
                    const AskedSamples& samples = {}) noexcept {
        const std::uint64_t passed = now_ns - window_start_ns_;
        const std::uint64_t ran = cpu_ns_ - window_cpu_ns_;
        const bool is_told = counts.runs >= window_counts_.runs;
        const std::uint64_t awake = ran + (is_told ? counts.wait_ns - window_counts_.wait_ns : 0);
        const bool is_first = window_end_ns_ == 0;
        keeps_running_ = !is_first && awake + passed / kLeastSleepPart >= passed;
        if (const std::uint64_t runs = is_told ? counts.runs - window_counts_.runs : 0;
            !is_first && runs != 0) {
            run_ns_ = ran / runs;
        }
        window_end_ns_ = now_ns + (is_first ? kFirstWindowNs : kWindowNs);
        window_start_ns_ = now_ns;
        window_cpu_ns_ = cpu_ns_;
        window_counts_ = counts;
        judge_calls(samples);
    }

    /// Whether it is time for a signal, of one that keeps running, or ran for a part of the time.
    [[nodiscard]] bool wants_signal(std::uint64_t period_ns) const noexcept {
        return (looked_ns_ - interrupted_ns_) * 2 >= period_ns;
    }
    /// Whether the thread would be visited, if it runs. `chance`: random, of 2^32.
    [[nodiscard]] static bool wants_visit(std::uint64_t period_ns, std::uint32_t chance) noexcept {
        return period_ns >= kPatienceNs || (period_ns << 32U) / kPatienceNs > chance;
    }
    /// Whether it is known to sleep so little that this is the clocks' difference.
    [[nodiscard]] bool keeps_running() const noexcept { return keeps_running_; }
    /// Whether a good part of its samples is at system calls.
    [[nodiscard]] bool calls_often() const noexcept { return calls_often_; }
    /// A sample that comes so much later than it was sent for, by the thread's clock, counts as
    /// late: a tenth of a period, and of what the thread runs from one switch to the next, as far
    /// as that is known.
    [[nodiscard]] std::uint64_t late_ns(std::uint64_t period_ns) const noexcept {
        constexpr std::uint64_t kPart = 10;
        return std::min(period_ns, run_ns_) / kPart;
    }
    /// Whether others were visited for so long that a signal that is late is better than none.
    [[nodiscard]] bool was_left() const noexcept { return unmet_ns() >= 8 * kPatienceNs; }
    /// Whether it has not been met on a processor for so long that it may be anywhere: it cannot be
    /// stopped. `is_known`: whether that would be known.
    [[nodiscard]] bool was_missed(bool is_known) const noexcept {
        return unmet_ns() >= (is_known ? 64 : 4) * kPatienceNs;
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
    /// Often is this part of the samples, and seldom less than that.
    static constexpr std::uint32_t kOftenPart = 10;
    static constexpr std::uint32_t kSeldomPart = 50;
    static constexpr std::uint32_t kJudgedSamples = 128;

    [[nodiscard]] std::uint64_t unmet_ns() const noexcept { return cpu_ns_ - interrupted_ns_; }
    void judge_calls(const AskedSamples& samples) noexcept {
        if (samples.all < judged_.all || samples.at_calls < judged_.at_calls) {
            judged_ = samples;  // its state is another one
        }
        const std::uint32_t all = samples.all - judged_.all;
        if (all >= kJudgedSamples) {
            const std::uint32_t at_calls = samples.at_calls - judged_.at_calls;
            calls_often_ = at_calls * (calls_often_ ? kSeldomPart : kOftenPart) >= all;
            judged_ = samples;
        }
    }

    std::uint64_t cpu_ns_ = 0;
    std::uint64_t looked_ns_ = 0;
    std::uint64_t interrupted_ns_ = 0;
    std::uint64_t window_start_ns_ = 0;
    std::uint64_t window_end_ns_ = 0;
    std::uint64_t window_cpu_ns_ = 0;
    ScheduleCounts window_counts_;
    std::uint64_t run_ns_ = std::numeric_limits<std::uint64_t>::max();
    bool keeps_running_ = false;
    AskedSamples judged_;  ///< Those by which it is known whether it calls often.
    bool calls_often_ = false;
};

/// How often a thread is looked at where there are so many that each look counts: at every tick, or
/// where it runs next to never at one in about kLongTicks; and what it weighs where a look chooses
/// one.
///
/// It goes by what the thread ran in a time longer than what it repeats, never by whether it runs
/// just now: else what comes after the first look at a piece of work would be met more often than
/// what came before it.
///
/// Plain arithmetic.
class LookStride {
public:
    static constexpr std::uint32_t kLongTicks = 16;
    static constexpr std::uint32_t kMostTicks = kLongTicks + kLongTicks / 2;
    static constexpr std::uint64_t kWindowNs = 250'000'000;
    /// Less than this part of a window is next to never.
    static constexpr std::uint64_t kLeastPart = 64;

    void looked(std::uint64_t now_ns, std::uint64_t cpu_ns) noexcept {
        if (now_ns < window_start_ns_ + kWindowNs) {
            return;
        }
        const std::uint64_t passed = now_ns - window_start_ns_;
        const std::uint64_t ran = cpu_ns - window_cpu_ns_;
        is_long_ = window_start_ns_ != 0 && ran * kLeastPart < passed;
        weight_ = window_start_ns_ == 0 ? kMostWeight
                                        : std::min(1 + ran * kMostWeight / passed, kMostWeight);
        window_start_ns_ = now_ns;
        window_cpu_ns_ = cpu_ns;
    }
    /// Of the ticks, it is looked at at one in this.
    [[nodiscard]] std::uint64_t average_ticks() const noexcept { return is_long_ ? kLongTicks : 1; }
    /// Its part of what threads like it run, of which one is visited at a look.
    [[nodiscard]] std::uint64_t weight() const noexcept { return weight_; }
    /// In how many it is looked at again. `random`: of 2^32.
    [[nodiscard]] std::uint64_t next_ticks(std::uint64_t random) const noexcept {
        return is_long_ ? kLongTicks / 2 + (random * (kLongTicks + 1) >> 32U) : 1;
    }

private:
    static constexpr std::uint64_t kMostWeight = 1024;

    std::uint64_t window_start_ns_ = 0;
    std::uint64_t window_cpu_ns_ = 0;
    std::uint64_t weight_ = kMostWeight;
    bool is_long_ = false;
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
    std::uint64_t next_look = 0;  ///< The tick from which on it is looked at.
    bool is_visited = true;       ///< At the next look; else it is sent a signal.
    bool is_due = false;          ///< At the next look, one that is visited.
    LookStride stride;
    InterruptChoice choice;
    WaitProgress wait;
    capture::ThreadState* state = nullptr;  ///< As far as it is known.
    std::uint64_t owes_since_ns = 0;        ///< Its clock when it came to owe a sample.
};

class ThreadTable {
public:
    static constexpr std::size_t kMaxThreads = capture::kMaxThreads;

    /// Room for more threads, at first for some. False: no memory, or enough.
    [[nodiscard]] bool grow() noexcept {
        const std::size_t more = std::min(std::max(kFirstThreads, 2 * capacity_), kMaxThreads);
        if (more == capacity_) {
            return false;
        }
        // As a stack's: a filter of system calls that knows the thread knows that.
        const long mapped = capture::map_anonymous(bytes_for(more), MAP_NORESERVE | MAP_STACK);
        if (capture::is_failure(mapped)) {
            return false;
        }
        capture::raw_syscall(SYS_madvise, mapped, static_cast<long>(bytes_for(more)),
                             MADV_DONTFORK);
        auto* const sides = reinterpret_cast<WatchedThread*>(mapped);
        std::copy_n(current(), count_, sides);
        std::copy_n(other(), listed_, sides + more);
        unmap();
        sides_ = sides;
        capacity_ = more;
        flipped_ = false;
        return true;
    }
    /// Forgets all, and unmaps its memory.
    void release() noexcept {
        unmap();
        *this = ThreadTable{};
    }
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
        if (listed_ == capacity_ && !grow()) {
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
    static constexpr std::size_t kFirstThreads = 64;

    [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t threads) noexcept {
        return 2 * threads * sizeof(WatchedThread);
    }
    [[nodiscard]] WatchedThread* current() noexcept { return sides_ + (flipped_ ? capacity_ : 0); }
    [[nodiscard]] WatchedThread* other() noexcept { return sides_ + (flipped_ ? 0 : capacity_); }
    void unmap() noexcept {
        if (sides_ != nullptr) {
            capture::raw_syscall(SYS_munmap, capture::as_argument(sides_),
                                 static_cast<long>(bytes_for(capacity_)));
        }
    }

    WatchedThread* sides_ = nullptr;  ///< Two of `capacity_` threads each.
    std::size_t capacity_ = 0;
    std::size_t count_ = 0;
    std::size_t listed_ = 0;
    std::size_t next_ = 0;
    bool flipped_ = false;
};

}  // namespace sample::source

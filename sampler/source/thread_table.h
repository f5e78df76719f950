// What the sampling thread knows of each thread of the process, kept in the order of /proc's
// listing, which is the order in which the threads were made: one pass merges both.
//
// Fixed room, no allocation. One owner.
#pragma once

#include "sampler/source/interrupt_choice.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sample::source {

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
};

class ThreadTable {
public:
    static constexpr std::size_t kMaxThreads = 4096;

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

// The zones that a receiver has begun on a thread, so that each end meets its own beginning
// whatever the program does:
//
//  * an end without a beginning ends nothing. It is counted, as a counter of the recording, and the
//    first one is told in a log message;
//  * an end of a zone within which others are open yet is kept until those have ended;
//  * what was not written when it began (the program has paused) is not written when it ends;
//  * zones below the 128th level are not written. Those below the 512th are only counted: an end
//    that comes meanwhile is taken for theirs.
//
// One of a thread (thread_state.h). A signal handler of the program may come in the middle.
#pragma once

#include "sample/trace.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace sample::receivers {

class ThreadZones {
public:
    /// `key`: who will end it; not 0. `is_written`: the caller writes the zone, next.
    /// Returns whether it is to do so.
    bool begin(std::uint64_t key, bool is_written) noexcept {
        // The level is taken first: what a handler does here comes above it.
        const std::uint32_t level = depth_;
        if (level == kLevels) {
            ++beyond_;
            return false;
        }
        depth_ = level + 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_written = is_written && level < kWrittenLevels;
        entries_[level] = {key, is_written, false};
        return is_written;
    }
    /// Ends the innermost zone of this key. False: there is none.
    bool end(std::uint64_t key) noexcept {
        if (beyond_ == 0 && depth_ != 0 && entries_[depth_ - 1].key == key) [[likely]] {
            end_top();
            return true;
        }
        return end_below(key);
    }

    /// How many of this key are open.
    [[nodiscard]] std::uint32_t open(std::uint64_t key) const noexcept;

private:
    struct Entry {
        std::uint64_t key;  ///< 0: it is being written.
        bool is_written;
        bool has_ended;
    };
    static constexpr std::uint32_t kWrittenLevels = 128;
    static constexpr std::uint32_t kLevels = 512;

    void end_top() noexcept {
        do {
            Entry& top = entries_[depth_ - 1];
            if (top.is_written) {
                sample_trace_module.functions->end_zone();
            }
            top = {};
            std::atomic_signal_fence(std::memory_order_seq_cst);
            --depth_;
        } while (depth_ != 0 && entries_[depth_ - 1].has_ended);
    }
    bool end_below(std::uint64_t key) noexcept;

    std::uint32_t depth_;
    std::uint32_t beyond_;  ///< Of those that are open, the ones that have no entry.
    std::array<Entry, kLevels> entries_;
};

/// Of all threads of a receiver: ends that had no beginning.
class Unmatched {
public:
    /// `receiver`: e.g. "ITT", a literal.
    constexpr explicit Unmatched(const char* receiver) noexcept : receiver_{receiver} {}
    void count() noexcept;

private:
    const char* receiver_;
    std::atomic<std::uint64_t> count_{0};
};

}  // namespace sample::receivers

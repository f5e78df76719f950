// What a sample stands for: how long its thread has run since the last one.
//
// Mostly that is a period. But an expiry that comes while the hypervisor has taken the processor
// away, or while interrupts are held back, comes late, and stands for all those that it missed.
#pragma once

#include "sampler/attach/event_records.h"

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sample::attach {

/// Not thread-safe.
class ThreadCounts {
public:
    explicit ThreadCounts(std::uint64_t period_ns) : period_ns_{period_ns} {}

    /// In nanoseconds; a period, where the kernel does not tell.
    [[nodiscard]] std::uint64_t weight_of(const StackSample& sample) {
        if (sample.counted_ns == 0) {
            return period_ns_;
        }
        std::vector<std::uint64_t>& counts = by_thread_[sample.tid];
        if (counts.size() <= sample.ring) {
            counts.resize(sample.ring + 1);
        }
        const std::uint64_t before = counts[sample.ring];
        counts[sample.ring] = sample.counted_ns;
        // A thread that execs takes the first thread's number over, but not its counts.
        return before < sample.counted_ns ? sample.counted_ns - before : period_ns_;
    }
    void forget(pid_t tid) { by_thread_.erase(tid); }

private:
    std::uint64_t period_ns_;
    std::unordered_map<pid_t, std::vector<std::uint64_t>> by_thread_;  ///< And by ring.
};

}  // namespace sample::attach

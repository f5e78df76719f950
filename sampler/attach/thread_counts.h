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
        Counts& counts = by_thread_[sample.tid];
        if (counts.by_ring.size() <= sample.ring) {
            counts.by_ring.resize(sample.ring + 1, counts.at_first);
        }
        const std::uint64_t before = counts.by_ring[sample.ring];
        counts.by_ring[sample.ring] = sample.counted_ns;
        return before < sample.counted_ns ? sample.counted_ns - before : period_ns_;
    }
    void forget(pid_t tid) { by_thread_.erase(tid); }
    /// The thread has execed. Another one than the first takes over the number of that, which has
    /// ended, but its own counts go on.
    void exec(pid_t tid) {
        if (!by_thread_.contains(tid)) {
            by_thread_[tid].at_first = kUnknown;
        }
    }

private:
    static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
    struct Counts {
        std::uint64_t at_first = 0;  ///< Before the first sample from a ring.
        std::vector<std::uint64_t> by_ring;
    };

    std::uint64_t period_ns_;
    std::unordered_map<pid_t, Counts> by_thread_;
};

}  // namespace sample::attach

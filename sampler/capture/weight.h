// What a sample stands for: all that its thread used, or did, since the last one.
//
// While samples come regularly that is a period, and no clock is read. Async-signal-safe.
#pragma once

#include "sampler/capture/clocks.h"
#include "sampler/capture/thread_state.h"

#include <cstdint>

namespace sample::capture {

/// Whether the kernel tells how often the event has happened to a thread.
inline bool kernel_counts(const AreaHeader& header) noexcept {
    return header.kernel_count != KernelCount::none &&
           header.kernel_excluded.load(std::memory_order_relaxed) == 0;
}

/// CPU time that this sample stands for, and (apart) the part that the source could not see.
struct Weight {
    std::uint64_t seen_ns = 0;
    std::uint64_t unseen_ns = 0;
    std::uint64_t accounted_ns = 0;  ///< The thread's new value, once the sample is published.
};

/// What happened since the thread's last sample, where the kernel says; else a period.
inline Weight weigh_event(const AreaHeader& header, const ThreadState& thread) noexcept {
    if (!kernel_counts(header)) {
        return {header.period_ns, 0, 0};
    }
    const std::uint64_t now = thread_count(header.kernel_count);
    if (thread.last_ticks == 0) {
        return {header.period_ns, 0, now};  // how many before the events were on is not known
    }
    const std::uint64_t accounted = thread.accounted_ns;
    return {now > accounted ? now - accounted : 0, 0, now};
}

inline Weight weigh(const AreaHeader& header, const ThreadState& thread,
                    std::uint64_t ticks) noexcept {
    if (header.gap_ticks == kCountsEvents) {
        return weigh_event(header, thread);
    }
    const std::uint64_t accounted = thread.accounted_ns;
    if (ticks - thread.last_ticks < header.gap_ticks) {
        return {header.period_ns, 0, accounted + header.period_ns};
    }
    const std::uint64_t now = thread_cpu_ns();
    if (now <= accounted) {
        return {0, 0, accounted};
    }
    const std::uint64_t elapsed = now - accounted;
    if (header.kernel_excluded.load(std::memory_order_relaxed) != 0 && elapsed > header.period_ns) {
        return {header.period_ns, elapsed - header.period_ns, now};
    }
    return {elapsed, 0, now};
}

}  // namespace sample::capture

// What a sample stands for: all that its thread used, or did, since the last one.
//
// While samples come regularly that is a period, and one more for each expiry that was skipped, and
// no clock is read. Behind samples that were lost it is read. The sampling thread looks at a moment
// of its own in each period, and a sample of its stands for the thread's time up to the beginning
// of the period of its last look: for one period wherever in it the look came, and at the end of a
// long call for all whose looks met it there. Async-signal-safe.
#pragma once

#include "sampler/capture/clocks.h"
#include "sampler/capture/thread_state.h"

#include <cstdint>

namespace sample::capture {

inline bool counts_events(const AreaHeader& header) noexcept {
    return header.gap_ticks.load(std::memory_order_relaxed) == kCountsEvents;
}

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
    std::uint32_t pace = 0;          ///< The same.
    std::uint64_t clock_ns = 0;      ///< The thread's, where it was read.
};

/// Whether this expiry is to be no sample, so that the others can come at the rate that was asked
/// for while the period is none that programs work in step with.
inline bool is_skipped(const AreaHeader& header, std::uint64_t ticks) noexcept {
    // Twice, as equal steps of the counter would make equal steps of one product.
    std::uint64_t mixed = ticks * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 32U) * 0xbf58476d1ce4e5b9U;
    return mixed >> 32U < header.skipped_share;
}

/// What happened since the thread's last sample, where the kernel says; else a period.
inline Weight weigh_event(const AreaHeader& header, const ThreadState& thread) noexcept {
    if (!kernel_counts(header)) {
        return {header.period_ns.load(std::memory_order_relaxed), 0, 0};
    }
    // Acquire pairs with the collector's change of it, behind which the events go on.
    const std::uint32_t pace = header.pace.load(std::memory_order_acquire);
    const std::uint64_t now = thread_count(header.kernel_count);
    if (thread.last_ticks == 0 || thread.pace != pace) {
        return {header.period_ns.load(std::memory_order_relaxed), 0, now,
                pace};  // how many before the events were on is not known
    }
    const std::uint64_t accounted = thread.accounted_ns;
    return {now > accounted ? now - accounted : 0, 0, now, pace};
}

/// A thread's clock at the beginning of the period of a look, which found it at `cpu_ns`,
/// `into_ns` later; since the look before it had run for `ran_ns`, lately if it paused. Time from
/// one look to the next would not do: it is longer for looks late in their periods, and what a
/// program does there in step with them would weigh more.
inline std::uint64_t looked_until(std::uint64_t cpu_ns, std::uint64_t ran_ns,
                                  std::uint64_t into_ns) noexcept {
    return cpu_ns - (into_ns < ran_ns ? into_ns : ran_ns);
}

/// After a gap: `now_ns` is the thread's clock, `regular_ns` what was interrupted by expiries since
/// the last sample, `is_look`: the sampling thread has asked for the sample.
inline Weight weigh_gap(const AreaHeader& header, const ThreadState& thread, std::uint64_t now_ns,
                        std::uint64_t regular_ns, bool is_look) noexcept {
    std::uint64_t until_ns = now_ns;
    if (is_look) {
        // It has not met the thread with its state yet, or it was another one's: then all.
        const std::uint64_t looked_ns = thread.looked_ns.load(std::memory_order_relaxed);
        until_ns = looked_ns != 0 && looked_ns < now_ns ? looked_ns : now_ns;
    }
    const std::uint64_t accounted = thread.accounted_ns;
    if (until_ns <= accounted) {
        return {0, 0, accounted, 0, now_ns};
    }
    const std::uint64_t elapsed = until_ns - accounted;
    if (header.kernel_excluded.load(std::memory_order_relaxed) != 0 && elapsed > regular_ns) {
        return {regular_ns, elapsed - regular_ns, until_ns, 0, now_ns};
    }
    return {elapsed, 0, until_ns, 0, now_ns};
}

/// `is_look`: as above.
inline Weight weigh(const AreaHeader& header, const ThreadState& thread, std::uint64_t ticks,
                    bool is_look = false) noexcept {
    if (counts_events(header)) {
        return weigh_event(header, thread);
    }
    const std::uint64_t periods = std::uint64_t{1} + thread.skipped + thread.lost;
    const std::uint64_t regular_ns = periods * header.period_ns.load(std::memory_order_relaxed);
    if (thread.lost == 0 &&
        ticks - thread.last_ticks < periods * header.gap_ticks.load(std::memory_order_relaxed)) {
        return {regular_ns, 0, thread.accounted_ns + regular_ns};
    }
    return weigh_gap(header, thread, thread_cpu_ns(), regular_ns, is_look);
}

}  // namespace sample::capture

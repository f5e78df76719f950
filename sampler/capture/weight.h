// What a sample stands for: all that its thread used, or did, since the last one.
//
// While samples come regularly that is a period, and one more for each expiry that was skipped, and
// no clock is read. Async-signal-safe.
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
    std::uint64_t cpu_ns = 0;        ///< The thread's clock, if it was read.
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

/// Of CPU time that is due, what a sample of the sampling thread stands for: the periods that are
/// over. Its moments are even in the periods, the time between two of them is not: samples late in
/// a period would weigh more than early ones, and what a program does there in step with it. What
/// is left, less than a period and what a signal may be late, is the next sample's. Of a thread
/// that lags behind its periods, all.
inline std::uint64_t in_periods(std::uint64_t due_ns, std::uint64_t period_ns) noexcept {
    if (due_ns < period_ns) {
        return due_ns;
    }
    return due_ns < 2 * period_ns + period_ns / 8 ? period_ns : due_ns - due_ns % period_ns;
}

/// `look_period_ns`: of the sampling thread, where the sample is of its; else 0.
inline Weight weigh(const AreaHeader& header, const ThreadState& thread, std::uint64_t ticks,
                    std::uint64_t look_period_ns = 0) noexcept {
    if (counts_events(header)) {
        return weigh_event(header, thread);
    }
    const std::uint64_t accounted = thread.accounted_ns;
    const std::uint64_t periods = 1 + thread.skipped;
    const std::uint64_t regular_ns = periods * header.period_ns.load(std::memory_order_relaxed);
    if (ticks - thread.last_ticks < periods * header.gap_ticks.load(std::memory_order_relaxed)) {
        return {regular_ns, 0, accounted + regular_ns};
    }
    const std::uint64_t now = thread_cpu_ns();
    if (now <= accounted) {
        return {0, 0, accounted};
    }
    const std::uint64_t elapsed = now - accounted;
    if (look_period_ns != 0) {
        const std::uint64_t paid = in_periods(elapsed, look_period_ns);
        return {paid, 0, accounted + paid, 0, now};
    }
    if (header.kernel_excluded.load(std::memory_order_relaxed) != 0 && elapsed > regular_ns) {
        return {regular_ns, elapsed - regular_ns, now};
    }
    return {elapsed, 0, now};
}

}  // namespace sample::capture

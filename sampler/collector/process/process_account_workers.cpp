// What is on a process's clock and in no sample. The kernel's workers of its io_uring: no signal
// reaches them, and no code of its runs there. So they are looked at from outside. And time in the
// kernel, where the source does not tick; but threads that the source does not reach, for want of
// an event or since they block all signals, do not tick either. What the kernel counts of itself
// tells.
#include "core/kernel_clock.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/process_account.h"

#include <algorithm>

namespace sample::collector {
namespace {

/// So much of the process's clock that nothing stands for is worth a look at all its threads,
constexpr std::uint64_t kWorthALookNs = 20'000'000;
/// so long after the last one, or so many times the processor time of that.
constexpr std::uint64_t kLeastBetweenNs = 50'000'000;
constexpr std::uint64_t kTimesItsPrice = 100;

}  // namespace

std::uint64_t ProcessAccount::unaccounted_ns(std::uint64_t cpu_ns) const {
    const std::uint64_t unrecorded = unrecorded_ns(cpu_ns);
    return unrecorded - std::min(unrecorded, due_ns());
}

std::uint64_t ProcessAccount::most_in_kernel(std::uint64_t cpu_ns) const {
    // Since the look it may have been there all the time.
    const std::uint64_t since_ns = cpu_ns - std::min(cpu_ns, system_look_.cpu_ns);
    const std::uint64_t most = system_look_.system_ns + since_ns;
    const std::uint64_t known =
        identity_.system_before_ns + earlier_.system_ns + booked_in_kernel_ns_;
    return most - std::min(most, known);
}

ProcessAccount::Rest ProcessAccount::divide(std::uint64_t rest_ns, std::size_t threads,
                                            std::optional<std::uint64_t> cpu_ns) const {
    std::uint64_t unseen = 0;
    if (identity_.is_time && sampling_.kernel_excluded) {
        // In its own code a thread that the source reaches would have ticked after a period.
        const std::uint64_t most = sampling_.period_ns * std::max<std::size_t>(threads, 1);
        unseen = rest_ns - std::min(rest_ns, most);
        // That it reaches all of them is believed as long as ticks are too few to tell.
        if (cpu_ns && unseen > kWorthALookNs) {
            unseen = std::min(unseen, most_in_kernel(*cpu_ns));
        }
    }
    return {unseen, rest_ns - unseen};
}

void ProcessAccount::look_for_unaccounted() {
    const std::uint64_t now = monotonic_ns();
    if (!identity_.is_time || now < next_look_ns_) {
        return;
    }
    next_look_ns_ = now + kLeastBetweenNs;
    const auto clock = process_cpu_ns(identity_.pid);
    if (!clock) {
        return;
    }
    // It is less once a thread has ended, and its rest is booked.
    unaccounted_at_look_ns_ = std::min(unaccounted_at_look_ns_, unaccounted_ns(*clock));
    if (unaccounted_ns(*clock) < unaccounted_at_look_ns_ + kWorthALookNs) {
        return;
    }
    const std::uint64_t before = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (const auto stat = sampling_.kernel_excluded ? stat_of(identity_.pid) : std::nullopt) {
        note_system_time(*clock, stat->system_cpu_ns);
    }
    for (const RingWorker& worker : ring_workers_of(identity_.pid)) {
        const auto tid = static_cast<std::uint32_t>(worker.tid);
        if (only_seen_.size() >= kMostOnlySeen && !only_seen_.contains(tid)) {
            continue;
        }
        ThreadState& thread = only_seen_[tid];
        if (thread.tid == 0 || worker.cpu_ns < thread.recorded_ns) {  // new, or another one's
            thread = new_thread(tid, worker.name, now);
            thread.waits.begin(now, worker.cpu_ns);
            if (stopped_) {
                thread.off.begin(0);
            }
        }
        book(thread, Pseudo::ring_worker, worker.cpu_ns - thread.recorded_ns, now);
    }
    settle(clock);
    unaccounted_at_look_ns_ = unaccounted_ns(*clock);
    const std::uint64_t price = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    next_look_ns_ = now + std::max(kLeastBetweenNs, price * kTimesItsPrice);
}

}  // namespace sample::collector

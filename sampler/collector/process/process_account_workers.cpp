// The kernel's workers of a process's io_uring: their time is on the process's clock, but no signal
// reaches them, and no code of its runs there. So they are looked at from outside.
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

void ProcessAccount::book_ring_workers() {
    const std::uint64_t now = monotonic_ns();
    if (!identity_.is_time || now < next_look_for_workers_ns_) {
        return;
    }
    next_look_for_workers_ns_ = now + kLeastBetweenNs;
    const auto clock = process_cpu_ns(identity_.pid);
    if (!clock || unaccounted_ns(*clock) < unaccounted_at_look_ns_ + kWorthALookNs) {
        return;
    }
    const std::uint64_t before = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
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
    next_look_for_workers_ns_ = now + std::max(kLeastBetweenNs, price * kTimesItsPrice);
}

}  // namespace sample::collector

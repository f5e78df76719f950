// What a process and its threads use while sampling is off, which is in no figure: the part of
// ProcessAccount that knows of a session's starts and stops.
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/process_account.h"

#include <algorithm>
#include <utility>

namespace sample::collector {

template <class Visit>
void ProcessAccount::for_each_clock(Visit visit) {
    const ThreadNumbers numbers = thread_numbers();
    const auto clock_of = [&](const ThreadState& thread) {
        return identity_.is_time ? thread_cpu_ns(identity_.pid, numbers.here(thread.tid)) : 0;
    };
    for (auto& [slot, thread] : threads_) {
        visit(thread, clock_of(thread));
    }
    for (auto& [tid, thread] : only_seen_) {
        visit(thread, clock_of(thread));
    }
}

void ProcessAccount::note_unknown_threads() {
    used_before_.clear();
    if (!identity_.is_time) {
        return;
    }
    for (const auto& [tid, here] : thread_numbers().all()) {
        if (!slots_.contains(tid) && !only_seen_.contains(tid)) {
            used_before_[tid] = thread_cpu_ns(identity_.pid, here);
        }
    }
}

void ProcessAccount::stop_counting(const ProcessCounts& counts) {
    write_due(counts.cpu_ns);
    if (sampling_.observes_waits) {
        end_waits(monotonic_ns());
    }
    stopped_ = Stop{used(counts), sampling_.observer_cpu_ns};
    for_each_clock([](ThreadState& thread, std::uint64_t cpu_ns) { thread.off.begin(cpu_ns); });
}

void ProcessAccount::go_on_counting(const ProcessCounts& counts) {
    if (!stopped_) {
        return;
    }
    const Used now = used(counts);
    const Stop before = *std::exchange(stopped_, std::nullopt);
    leave_out({now.cpu_ns - std::min(now.cpu_ns, before.used.cpu_ns),
               now.weight - std::min(now.weight, before.used.weight),
               now.system_ns - std::min(now.system_ns, before.used.system_ns)});
    earlier_observer_ns_ +=
        sampling_.observer_cpu_ns - std::min(sampling_.observer_cpu_ns, before.observer_ns);
    const std::uint64_t time_ns = monotonic_ns();
    for_each_clock([&](ThreadState& thread, std::uint64_t cpu_ns) {
        thread.off.end(cpu_ns);
        thread.waits = WaitLedger{};
        thread.waits.begin(time_ns, cpu_ns);
        thread.waits.read(time_ns, cpu_ns);
        if (cpu_ns > thread.wait_cpu_ns + sampling_.period_ns) {
            thread.waits_at.reset();
        }
    });
    note_unknown_threads();
}

void ProcessAccount::begin_sampling(const ProcessCounts& counts) {
    leave_out(used(counts));
    earlier_observer_ns_ = sampling_.observer_cpu_ns;
    for_each_clock([](ThreadState& thread, std::uint64_t cpu_ns) {
        thread.off.begin(0);
        thread.off.end(cpu_ns);
    });
    note_unknown_threads();
}

}  // namespace sample::collector

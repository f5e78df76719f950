#include "sampler/source/visit.h"

#include "core/kernel_clock.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

#include <ctime>

namespace sample::source {

using capture::raw_syscall;

bool runs_elsewhere(int tid, std::uint32_t random) noexcept {
    const std::uint64_t cpu_ns = cpu_ns_of(tid);
    const std::uint64_t now_ns = read_kernel_clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t ran_ns = cpu_ns_of(tid) - cpu_ns;
    const std::uint64_t passed_ns = read_kernel_clock_ns(CLOCK_MONOTONIC) - now_ns;
    return ran_ns != 0 && ran_ns >= (passed_ns * random >> 32U);
}

void Visit::begin(int folder, int self) noexcept {
    *this = Visit{};  // a forked child has no descriptor of its parent's
    folder_ = folder;
    own_sched_ = open_task_file(folder, self, "sched");
    own_schedstat_ = open_task_file(folder, self, "schedstat");
    is_possible_ = ran_ns_of(own_sched_) != 0 && schedule_counts(own_schedstat_).runs != 0;
}

void Visit::forget() noexcept {
    if (sched_ >= 0) {
        raw_syscall(SYS_close, sched_);
    }
    sched_ = kNoFile;
    tid_ = 0;
}

bool Visit::pay(int tid, OwnProcessor& processor) noexcept {
    forget();
    tid_ = tid;
    sched_ = open_task_file(folder_, tid, "sched");
    at_ = processor_of(folder_, tid);
    is_there_ = processor.go_to(at_);
    before_ = schedule_counts(own_schedstat_);
    return is_there_;
}

void Visit::meet(std::uint32_t random) noexcept {
    if (tid_ == 0) {
        return;
    }
    met_.ran_elsewhere = runs_elsewhere(tid_, random);
    const std::uint64_t since_ns = ran_ns_of(own_sched_);
    until_ns_ = ran_ns_of(sched_);
    const ScheduleCounts counts = schedule_counts(own_schedstat_);
    // Who had no time left to sleep has stopped nobody.
    const bool has_slept = counts.runs != before_.runs;
    met_.stopped = is_there_ && has_slept
                       ? was_stopped(until_ns_, since_ns, counts.wait_ns - before_.wait_ns)
                       : Stopped::no;
}

bool Visit::is_where_it_was() const noexcept {
    return ran_ns_of(sched_) == until_ns_;
}

void Visit::call_off(OwnProcessor& processor) noexcept {
    if (tid_ != 0) {
        forget();
        processor.leave(at_);
    }
}

void Visit::end(OwnProcessor& processor) noexcept {
    call_off(processor);
    raw_syscall(SYS_close, own_sched_);
    raw_syscall(SYS_close, own_schedstat_);
}

}  // namespace sample::source

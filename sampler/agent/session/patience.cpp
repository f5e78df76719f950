#include "sampler/agent/session/patience.h"

#include "core/kernel_clock.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/tasks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace sample::agent {
namespace {

using capture::raw_syscall;

/// MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)
clockid_t cpu_clock_of(int pid) noexcept {
    return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3U | 2U);
}

/// What the busiest of the process's threads does: 'R' would go on at once, had it a processor; 'D'
/// waits inside the kernel, for a disk mostly. One that is stopped does neither, and one that waits
/// for us either.
char busiest_state(int pid) noexcept {
    char busiest = '\0';
    source::with_own_descriptors([&]() noexcept {
        const int folder = pid > 0 ? source::open_tasks_of(pid) : -1;
        if (folder >= 0) {
            source::for_each_number(folder, [&](int tid) {
                const char state = source::state_letter(folder, tid);
                busiest = state == 'R' || state == 'D' ? state : busiest;
                return busiest != 'R';
            });
        }
    });
    return busiest;
}

}  // namespace

bool is_dead(int pid) noexcept {
    if (pid <= 0) {
        return false;
    }
    if (raw_syscall(SYS_kill, pid, 0) == -ESRCH) {
        return true;
    }
    bool has_ended = false;
    source::with_own_descriptors([&]() noexcept { has_ended = source::process_has_ended(pid); });
    return has_ended;
}

std::uint64_t Patience::collector_cpu_ns() const noexcept {
    return collector_ > 0 ? read_kernel_clock_ns(cpu_clock_of(collector_)) : 0;
}

bool Patience::goes_on() noexcept {
    const std::uint64_t now = read_kernel_clock_ns(CLOCK_MONOTONIC);
    if (last_ns_ == 0) {
        // The first wait has passed.
        last_ns_ = now;
        last_cpu_ns_ = collector_cpu_ns();
        return !is_dead(collector_);
    }
    const std::uint64_t passed = now - last_ns_;
    if (passed < static_cast<std::uint64_t>(kSliceNs) / 2) {
        return true;  // a signal has cut it short
    }
    last_ns_ = now;
    // What a wait took longer than it should, this thread had no processor either.
    const std::uint64_t counted = passed < 2 * kSliceNs ? passed : 2 * kSliceNs;
    waited_ns_ += counted;
    const std::uint64_t cpu = collector_cpu_ns();
    const char state = busiest_state(collector_);
    const bool is_in_kernel = state == 'D' && in_kernel_left_ns_ > 0;
    in_kernel_left_ns_ -= is_in_kernel ? std::min(counted, in_kernel_left_ns_) : 0;
    if (cpu != last_cpu_ns_ || state == 'R' || is_in_kernel) {
        last_cpu_ns_ = cpu;
        quiet_since_ns_ = waited_ns_;
    }
    return waited_ns_ < most_ns_ && waited_ns_ - quiet_since_ns_ < quiet_ns_;
}

}  // namespace sample::agent

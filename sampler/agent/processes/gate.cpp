#include "sampler/agent/processes/gate.h"

#include "core/kernel_clock.h"
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/processes/spare_stack.h"
#include "sampler/agent/session/arming.h"
#include "sampler/agent/session/local_socket.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/transfers.h"
#include "sampler/instrument/lane_writer.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/sampling_thread.h"
#include "sampler/source/tasks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace sample::agent {
namespace {

using capture::Area;
using capture::as_argument;
using capture::raw_syscall;

constexpr std::uint64_t kMostAtGateNs = 2'000'000'000;
constexpr std::uint64_t kMostAtEndNs = 10'000'000'000;  // a long recording's exports
constexpr std::uint64_t kPageBytes = 4096;

/// Of each fork of this thread that is under way, whether it has closed the gate; the lowest bit is
/// the innermost's, as a signal's handler may fork inside a fork.
constinit thread_local std::uint64_t t_closed_for_fork = 0;

bool collector_lives() noexcept {
    return raw_syscall(SYS_kill, collector_pid(), 0) != -ESRCH;
}

bool request_and_wait(Area& area) noexcept {
    const std::uint32_t request =
        area.header.gate_requests.fetch_add(1, std::memory_order_acq_rel) + 1;
    ring_doorbell();
    return wait_for(area.header.gate_acks, request, kMostAtGateNs);
}

void close_gate(Area& area) noexcept {
    area.header.gate_closers.fetch_add(1, std::memory_order_acq_rel);
}

void open_gate(Area& area) noexcept {
    area.header.gate_closers.fetch_sub(1, std::memory_order_acq_rel);
    area.header.gate_requests.fetch_add(1, std::memory_order_acq_rel);
    ring_doorbell();
}

std::uint64_t resident_bytes() noexcept {
    std::uint64_t pages = 0;
    // The second number, in pages. Source: proc(5).
    source::with_own_descriptors([&]() noexcept {
        std::array<char, 128> text{};
        pages = source::second_number(source::read_file(AT_FDCWD, "/proc/thread-self/statm", text));
    });
    return kPageBytes * pages;
}

/// Whether a fork takes some 16 periods or more. Measured: 16 ns a KiB that is resident. What is
/// counted does not expire again and again in one fork, and would be missed.
bool forks_slowly(const Area& area) noexcept {
    if (area.header.gap_ticks.load(std::memory_order_relaxed) == capture::kCountsEvents) {
        return false;
    }
    const std::uint64_t limit = area.header.period_ns.load(std::memory_order_relaxed) * 1024;
    // The most that it ever was, an earlier image's included, costs one system call.
    rusage usage{};
    raw_syscall(SYS_getrusage, RUSAGE_SELF, as_argument(&usage));
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 >= limit && resident_bytes() >= limit;
}

/// The program's threads besides the calling one and zombies, which the first thread stays as while
/// others live on. Without /proc nobody can tell: many.
std::size_t other_threads(const Area& area) noexcept {
    const long self = raw_syscall(SYS_gettid);
    const auto ours = static_cast<int>(
        uses_sampling_thread() ? area.header.observer_tid.load(std::memory_order_relaxed) : 0);
    std::size_t others = SIZE_MAX;
    source::with_own_descriptors([&]() noexcept {
        const int folder = source::open_task_folder();
        if (folder < 0) {
            return;
        }
        others = 0;
        const long apart = raw_syscall(SYS_gettid);
        source::for_each_number(folder, [&](int tid) {
            const bool counts = tid != self && tid != apart && tid != ours &&
                                source::state_letter(folder, tid) != 'Z';
            others += counts ? 1 : 0;
            return true;
        });
    });
    return others;
}

/// Of the program's. A thread that was joined may be listed for a moment longer.
bool is_last_thread(const Area& area) noexcept {
    const int looks = uses_sampling_thread() ? 20 : 1;
    for (int look = 0; look < looks; ++look) {
        if (other_threads(area) == 0) {
            return true;
        }
        capture::sleep_briefly();
    }
    return false;
}

siginfo_t own_sample(int kind) noexcept {
    siginfo_t info{};
    info.si_signo = own_signal();
    info.si_code = capture::kFromItself;
    info.si_errno = kind;
    info.si_value.sival_ptr = reinterpret_cast<void*>(capture::kSampleCookie);
    return info;
}

/// Asks the collector to take everything in before this process exits, and waits for it as long as
/// it makes progress. Only for the process that started the session.
void finish_session(Area& area) noexcept {
    area.header.finish_request.store(1, std::memory_order_release);
    ring_doorbell();
    wait_for(area.header.finish_ack, 1, kMostAtEndNs, AnsweredBy::recording);
}

}  // namespace

void take_sample_here() noexcept {
    const siginfo_t info = own_sample(0);
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
                own_signal(), as_argument(&info));
}

void take_sample_of(std::uintptr_t function) noexcept {
    const siginfo_t info = own_sample(capture::kOwedToSamplingThread);
    capture::queue_sample_of(raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), own_signal(), &info,
                             function);
}

bool is_own_process() noexcept {
    const std::uint32_t joined = process_state().pid.load(std::memory_order_relaxed);
    // Without an area nobody asks the kernel: a filter may kill for it.
    return joined != 0 && capture::current_area() != nullptr &&
           static_cast<std::uint32_t>(raw_syscall(SYS_getpid)) == joined;
}

void set_up_gate(bool needed) noexcept {
    ProcessState& state = process_state();
    state.gate_is_needed = needed;
    state.pid.store(static_cast<std::uint32_t>(raw_syscall(SYS_getpid)));
}

ClosedGate::ClosedGate() noexcept {
    bool answered = true;
    if (Area* area = capture::current_area(); area != nullptr && is_own_process()) {
        area_ = area;
        area->header.last_cpu_ns.store(read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                                       std::memory_order_relaxed);
        // A sample that comes where our signal is blocked would wait in the new image.
        const bool is_blocked = program_blocks_own_signal() || is_own_signal_blocked();
        is_left_alone_ =
            is_blocked && capture::begin_transfer(reinterpret_cast<std::uintptr_t>(this));
        is_closed_ = is_blocked || process_state().gate_is_needed;
        if (is_closed_) {
            close_gate(*area);
            answered = request_and_wait(*area) || !collector_lives();
            answered = capture::await_signal_on_its_way() && answered;
        }
    }
    shown_ = show_program_dispositions();
    if (!answered) {
        ignore_own_signal();
        shown_.is_ignored = true;
    }
    if (!is_confined()) {  // a filter may kill for it
        hand_pending_over();
    }
}

ClosedGate::~ClosedGate() {
    restore_own_dispositions(shown_);
    if (area_ == nullptr) {
        return;
    }
    area_->header.last_cpu_ns.store(0, std::memory_order_relaxed);
    if (is_left_alone_) {
        static_cast<void>(capture::end_transfer());  // the next sample stands for it
    }
    if (is_closed_) {
        open_gate(*area_);
    }
}

void before_fork() noexcept {
    t_closed_for_fork <<= 1U;
    Area* area = capture::current_area();
    // A filter that forbids joining may forbid what is asked here, too.
    if (area == nullptr || !may_join() || !is_own_process() || area->header.stopped.load() != 0 ||
        !forks_slowly(*area)) {
        return;
    }
    t_closed_for_fork |= 1U;
    close_gate(*area);
    request_and_wait(*area);
}

void after_fork() noexcept {
    const bool closed = (t_closed_for_fork & 1U) != 0;
    t_closed_for_fork >>= 1U;
    Area* area = capture::current_area();
    if (area != nullptr && closed) {
        open_gate(*area);
        if (own_signal() == SIGTRAP) {
            take_sample_here();
        }
    }
}

void in_forked_child() noexcept {
    stand_in_for_area();
    const bool was_profiled = capture::detach_after_fork();
    instrument::forget_lane();
    forget_sources();
    t_closed_for_fork = 0;
    signals_after_fork();
    if (!may_join()) {
        return;
    }
    set_up_confinement();
    if (!was_profiled || !children_wanted()) {
        return;
    }
    SpareStack spare;
    // A handler that forks on a small stack of its own mostly execs then: that image joins.
    if (spare.uses_callers_stack() || !is_on_alternate_stack()) {
        spare.run_with_signals([] { static_cast<void>(join_session(JoinKind::after_fork)); });
    }
}

void close_gate_for_good() noexcept {
    Area* area = capture::current_area();
    if (area == nullptr || !is_own_process()) {
        return;
    }
    close_gate(*area);
    if (!request_and_wait(*area) && collector_lives()) {
        ignore_own_signal();
    }
}

void note_exit(int status) noexcept {
    capture::Area* area = capture::current_area();
    // A vfork child's exit is not its parent's, whose memory this is.
    if (area == nullptr || !is_own_process() || area->header.stopped.load() != 0) {
        return;
    }
    area->header.exit_status.store(status & 0xff);
    area->header.last_cpu_ns.store(read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    area->header.exit_known.store(1, std::memory_order_release);
    if (area->header.is_root != 0) {
        finish_session(*area);
    }
}

int note_thread_exit(int status) noexcept {
    // Where a filter or strict mode was set, looking at the threads may be what it kills for.
    const Area* area = capture::current_area();
    if (area == nullptr || is_confined() || !is_own_process()) {
        return status;
    }
    source::note_thread_status(status);
    if (is_last_thread(*area)) {
        note_exit(status);
        end_sampling_thread();
    }
    return source::last_thread_status();
}

}  // namespace sample::agent

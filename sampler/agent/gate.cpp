#include "sampler/agent/gate.h"

#include "sampler/agent/confinement.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

namespace sample::agent {
namespace {

using capture::Area;
using capture::as_argument;
using capture::raw_syscall;

constexpr long kSliceNs = 50'000'000;
constexpr int kGateSlices = 40;     // 2 s
constexpr int kFinishSlices = 200;  // 10 s: a slow disk
constexpr std::uint64_t kPageBytes = 4096;

constinit capture::SessionPage* g_page = nullptr;
constinit std::uint32_t g_collector_pid = 0;
constinit std::uint32_t g_own_pid = 0;
constinit bool g_needed = false;
constinit thread_local bool t_closed_for_fork = false;

void ring_doorbell() noexcept {
    g_page->doorbell.fetch_add(1, std::memory_order_release);
    raw_syscall(SYS_futex, as_argument(&g_page->doorbell), FUTEX_WAKE, 1);
}

bool collector_lives() noexcept {
    return raw_syscall(SYS_kill, g_collector_pid, 0) != -ESRCH;
}

/// Waits until `ack` has reached `wanted`. False: the collector died or did not answer.
bool wait_for(std::atomic<std::uint32_t>& ack, std::uint32_t wanted, int slices) noexcept {
    for (int slice = 0; slice < slices;) {
        const std::uint32_t seen = ack.load(std::memory_order_acquire);
        if (static_cast<std::int32_t>(seen - wanted) >= 0) {
            return true;
        }
        const timespec timeout{0, kSliceNs};
        const long result =
            raw_syscall(SYS_futex, as_argument(&ack), FUTEX_WAIT, seen, as_argument(&timeout));
        if (result == -ETIMEDOUT) {
            ++slice;
            if (!collector_lives()) {
                return false;
            }
        }
    }
    return false;
}

bool request_and_wait(Area& area) noexcept {
    const std::uint32_t request =
        area.header.gate_requests.fetch_add(1, std::memory_order_acq_rel) + 1;
    ring_doorbell();
    return wait_for(area.header.gate_acks, request, kGateSlices);
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
    const long fd =
        raw_syscall(SYS_openat, AT_FDCWD, as_argument("/proc/self/statm"), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    std::array<char, 128> text{};
    const long size =
        raw_syscall(SYS_read, fd, as_argument(text.data()), static_cast<long>(text.size()));
    raw_syscall(SYS_close, fd);
    // The second number, in pages. Source: proc(5).
    std::uint64_t pages = 0;
    long at = 0;
    while (at < size && text[static_cast<std::size_t>(at)] != ' ') {
        ++at;
    }
    for (++at; at < size; ++at) {
        const char digit = text[static_cast<std::size_t>(at)];
        if (digit < '0' || digit > '9') {
            break;
        }
        pages = pages * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return pages * kPageBytes;
}

/// Whether a fork takes some 16 periods or more. Measured: 16 ns a KiB that is resident. What is
/// counted does not expire again and again in one fork, and would be missed.
bool forks_slowly(const Area& area) noexcept {
    if (area.header.gap_ticks == capture::kCountsEvents) {
        return false;
    }
    const std::uint64_t limit = area.header.period_ns * 1024;
    // The most that it ever was, an earlier image's included, costs one system call.
    rusage usage{};
    raw_syscall(SYS_getrusage, RUSAGE_SELF, as_argument(&usage));
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 >= limit && resident_bytes() >= limit;
}

/// Sends the calling thread what an expiry of its event would.
void take_sample_here() noexcept {
    alignas(siginfo_t) std::array<char, sizeof(siginfo_t)> info{};
    auto* head = reinterpret_cast<siginfo_t*>(info.data());
    head->si_signo = own_signal();
    if (own_signal() == SIGTRAP) {
        head->si_code = capture::kTrapPerf;
        memcpy(info.data() + capture::kPerfDataOffset, &capture::kSampleCookie,
               sizeof capture::kSampleCookie);
    } else {
        head->si_code = SI_QUEUE;
        head->si_value.sival_ptr = reinterpret_cast<void*>(capture::kSampleCookie);
    }
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
                own_signal(), as_argument(info.data()));
}

}  // namespace

bool is_own_process() noexcept {
    return static_cast<std::uint32_t>(raw_syscall(SYS_getpid)) == g_own_pid;
}

void set_up_gate(capture::SessionPage* page, std::uint32_t collector_pid, bool needed) noexcept {
    g_page = page;
    g_collector_pid = collector_pid;
    g_own_pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
    g_needed = needed;
}

ClosedGate::ClosedGate() noexcept {
    Area* area = capture::current_area();
    if (area == nullptr || !is_own_process()) {
        return;
    }
    area_ = area;
    area->header.last_cpu_ns.store(capture::read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                                   std::memory_order_relaxed);
    if (g_needed) {
        close_gate(*area);
        if (!request_and_wait(*area) && collector_lives()) {
            ignore_own_signal();
            ignoring_trap_ = true;
        }
    }
    show_program_dispositions();
}

ClosedGate::~ClosedGate() {
    if (area_ == nullptr) {
        return;
    }
    restore_own_dispositions();
    area_->header.last_cpu_ns.store(0, std::memory_order_relaxed);
    if (g_needed) {
        open_gate(*area_);
    }
}

void before_fork() noexcept {
    Area* area = capture::current_area();
    // A filter that forbids joining may forbid what is asked here, too.
    if (area == nullptr || !may_join() || !is_own_process() || area->header.stopped.load() != 0 ||
        !forks_slowly(*area)) {
        return;
    }
    t_closed_for_fork = true;
    close_gate(*area);
    request_and_wait(*area);
}

void after_fork() noexcept {
    Area* area = capture::current_area();
    if (area != nullptr && std::exchange(t_closed_for_fork, false)) {
        open_gate(*area);
        if (own_signal() == SIGTRAP) {
            take_sample_here();
        }
    }
}

void forget_fork() noexcept {
    t_closed_for_fork = false;
}

std::uint32_t collector_pid() noexcept {
    return g_collector_pid;
}

void close_gate_for_good() noexcept {
    Area* area = capture::current_area();
    if (area == nullptr || !is_own_process()) {
        return;
    }
    area->header.gate_closers.fetch_add(1, std::memory_order_acq_rel);
    if (!request_and_wait(*area) && collector_lives()) {
        ignore_own_signal();
    }
}

void finish_session(Area& area) noexcept {
    area.header.finish_request.store(1, std::memory_order_release);
    ring_doorbell();
    wait_for(area.header.finish_ack, 1, kFinishSlices);
}

void note_exit(int status) noexcept {
    capture::Area* area = capture::current_area();
    // A vfork child's exit is not its parent's, whose memory this is.
    // Nor has a child that was made past our fork handler the area mapped.
    if (area == nullptr || !is_own_process() || area->header.stopped.load() != 0) {
        return;
    }
    area->header.exit_status.store(status & 0xff);
    area->header.last_cpu_ns.store(capture::read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    area->header.exit_known.store(1, std::memory_order_release);
    if (area->header.is_root != 0) {
        finish_session(*area);
    }
}

}  // namespace sample::agent

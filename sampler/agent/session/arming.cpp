#include "sampler/agent/session/arming.h"

#include "sampler/agent/late_start.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/session/local_socket.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/perf_event.h"
#include "sampler/source/posix_timer.h"
#include "sampler/source/sampling_thread.h"
#include "sampler/source/tasks.h"

#include <sys/single_threaded.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using control::Source;

constexpr std::uint64_t kMostForAThreadNs = 5'000'000'000;

/// Of this process's area, or in a forked child of its parent's, until it has its own.
constinit capture::AreaHeader* g_header = nullptr;
constinit std::uint32_t g_event_type = 0;
constinit std::uint64_t g_event_config = 0;
constinit bool g_kernel_excluded = false;

/// Of the threads that existed when the process joined.
constinit std::array<source::TimerId, control::kMaxPassedFds> g_timers{};
constinit std::size_t g_timer_count = 0;

constinit std::uint64_t g_processors = 1;
constinit std::atomic<std::uint64_t> g_running_timers{0};

/// The calling thread's timer plus one; 0: none.
constinit thread_local source::TimerId t_timer_plus_one = 0;

int current_tid() noexcept {
    return static_cast<int>(raw_syscall(SYS_gettid));
}

int open_event(Source source, bool exclude_kernel, int tid) noexcept {
    source::PerfRequest request;
    request.type = g_event_type;
    request.config = g_event_config;
    request.period = g_header->period_ns.load(std::memory_order_relaxed);
    request.cookie = capture::kSampleCookie;
    request.exclude_kernel = exclude_kernel;
    request.sigtrap = source == Source::sigtrap;
    const int fd = source::open_event(request, tid);
    if (fd < 0 || source == Source::sigtrap) {
        return fd;
    }
    const int result = source::send_signal_to(fd, tid, capture::kAsyncSignal);
    if (result < 0) {
        close_descriptor(fd);
        return result;
    }
    capture::add_perf_descriptor(fd);
    return fd;
}

/// One event for each thread. 0, or the negative errno of the calling thread's.
int open_events(Source source, bool exclude_kernel, const ThreadList& threads,
                Arming& arming) noexcept {
    const int self = current_tid();
    for (std::size_t i = 0; i < threads.count; ++i) {
        const int fd = open_event(source, exclude_kernel, threads.tids[i]);
        if (fd >= 0) {
            arming.fds[arming.count++] = fd;
        } else if (threads.tids[i] == self) {
            close_events(arming);
            return fd;
        }
    }
    arming.armed.kernel_excluded = exclude_kernel ? 1 : 0;
    return 0;
}

void delete_timers() noexcept {
    while (g_timer_count != 0) {
        source::delete_timer(g_timers[--g_timer_count]);
    }
}

/// That this process may use.
std::uint64_t processors() noexcept {
    std::array<std::uint64_t, 128> mask{};
    raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, as_argument(mask.data()));
    int count = 0;
    for (const std::uint64_t word : mask) {
        count += __builtin_popcountll(word);
    }
    return count > 0 ? static_cast<std::uint64_t>(count) : 1;
}

/// One timer for each thread. 0, or the negative errno of the calling thread's.
int make_timers(const ThreadList& threads) noexcept {
    const int self = current_tid();
    g_processors = processors();
    g_running_timers.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < threads.count; ++i) {
        const source::TimerId timer = source::create_thread_timer(
            threads.tids[i], capture::kAsyncSignal, capture::kSampleCookie);
        if (timer >= 0) {
            g_timers[g_timer_count++] = timer;
        } else if (threads.tids[i] == self) {
            delete_timers();
            return timer;
        }
    }
    return 0;
}

int make_sampling_thread(const control::Welcome& welcome, capture::Area& area) noexcept {
    if (process_state().has_sampling_thread) {
        return 0;
    }
    const int folder = source::has_own_proc() ? source::open_task_folder() : -ENOENT;
    if (folder < 0) {
        return folder;  // no /proc, or none of ours: the thread would see nobody
    }
    close_descriptor(folder);
    const int tid = source::start_sampling_thread({&area, welcome.period,
                                                   static_cast<int>(welcome.collector_pid),
                                                   welcome.observes_waits != 0});
    process_state().has_sampling_thread = tid >= 0;
    return tid < 0 ? tid : 0;
}

/// A period of wall time, and a random first part of it. Where more threads than processors have
/// one, longer by as much: each runs for a part of the time, and a thousand timers would take all
/// of it.
void start_timer(source::TimerId timer) noexcept {
    const std::uint64_t running = g_running_timers.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t stretch = std::max<std::uint64_t>(1, running / g_processors);
    if (g_header->timer_stretch.load(std::memory_order_relaxed) != 0) {
        g_header->timer_stretch.store(static_cast<std::uint32_t>(stretch),
                                      std::memory_order_relaxed);
    }
    const std::uint64_t period = g_header->period_ns.load(std::memory_order_relaxed) * stretch;
    const std::uint64_t mixed = capture::read_ticks() * 0x9e3779b97f4a7c15U;
    source::start_timer(timer, 1 + ((mixed >> 32U) * period >> 32U), period);
}

void pass_event_on() noexcept {
    if (!may_wait()) {
        return;
    }
    const int tid = current_tid();
    control::ArmThread message;
    message.secret = session_secret();
    message.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
    message.tid = static_cast<std::uint32_t>(tid);
    source::with_own_descriptors([&]() noexcept {
        const int event = open_event(Source::perf, g_kernel_excluded, tid);
        if (event >= 0) {
            send_to_collector(std::as_bytes(std::span{&message, 1}), kMostForAThreadNs,
                              AfterTelling::await_go, event);
        }
    });
}

/// 0, or why the source does not work here, as a negative errno.
int try_source(Source source, const control::Welcome& welcome, const ThreadList& threads,
               capture::Area& area, Arming& arming) noexcept {
    switch (source) {
        case Source::sigtrap: {
            const int result = open_events(source, false, threads, arming);
            if (result != -EACCES && result != -EPERM) {
                return result;
            }
            if (std::find(welcome.sources.begin(), welcome.sources.end(), Source::thread) !=
                welcome.sources.end()) {
                // To stand by, before there are events that it would inherit.
                make_sampling_thread(welcome, area);
            }
            return open_events(source, true, threads, arming);
        }
        case Source::perf:
            // A signal that arrives inside a system call cuts it short: EINTR, or less read than
            // there is. One that only user code's time sends does not.
            return open_events(source, true, threads, arming);
        case Source::thread:
            return make_sampling_thread(welcome, area);
        case Source::timer:
            return make_timers(threads);
        case Source::none:
            break;
    }
    return -EINVAL;
}

}  // namespace

ThreadList list_threads() noexcept {
    ThreadList list;
    if (__libc_single_threaded != 0) {
        list.tids[list.count++] = current_tid();
        return list;
    }
    const int folder = source::has_own_proc() ? source::open_task_folder() : -ENOENT;
    if (folder < 0) {
        list.tids[list.count++] = current_tid();
        return list;
    }
    source::for_each_number(folder, [&list](int tid) {
        list.tids[list.count++] = tid;
        return list.count < list.tids.size();
    });
    close_descriptor(folder);
    return list;
}

int signal_of(Source source) noexcept {
    return source == Source::sigtrap ? SIGTRAP : capture::kAsyncSignal;
}

Arming arm(const control::Welcome& welcome, const ThreadList& threads,
           capture::Area& area) noexcept {
    Arming arming;
    g_header = &area.header;
    area.header.timer_stretch.store(1, std::memory_order_relaxed);
    g_event_type = welcome.event_type;
    g_event_config = welcome.event_config;
    if (welcome.observes_waits != 0) {
        // Before there are events that it would inherit.
        arming.armed.waits_errno = -make_sampling_thread(welcome, area);
    }
    for (const Source source : welcome.sources) {
        if (source == Source::none || static_cast<std::size_t>(source) >= control::kSourceCount) {
            break;
        }
        const int result = is_loaded_late() && source != Source::thread
                               ? -EOPNOTSUPP
                               : try_source(source, welcome, threads, area, arming);
        if (result == 0) {
            arming.armed.source = source;
            break;
        }
        arming.armed.refused_errno[static_cast<std::size_t>(source)] = -result;
    }
    const Source source = arming.armed.source;
    g_kernel_excluded = arming.armed.kernel_excluded != 0;
    process_state().source.store(source, std::memory_order_release);
    if (source == Source::thread || source == Source::timer) {
        area.header.gap_ticks = 0;  // they go by the wall's clock: each sample asks the thread's
    }
    if (source == Source::thread) {
        area.header.skipped_share = 0;  // it varies its period by itself
    }
    return arming;
}

void switch_events(const Arming& arming, bool on) noexcept {
    for (std::size_t i = 0; i < arming.count; ++i) {
        raw_syscall(SYS_ioctl, arming.fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
                    0);
    }
}

void close_events(Arming& arming) noexcept {
    for (std::size_t i = 0; i < arming.count; ++i) {
        close_descriptor(arming.fds[i]);
    }
    arming.count = 0;
}

void start_sources(bool wanted) noexcept {
    const Source source = process_state().source.load(std::memory_order_relaxed);
    if (process_state().has_sampling_thread) {
        source::release_sampling_thread(wanted, source == Source::thread, signal_of(source));
    }
    if (!wanted) {
        delete_timers();
    }
    for (std::size_t i = 0; i < g_timer_count; ++i) {
        start_timer(g_timers[i]);
    }
}

void stop_sources(capture::Area& area) noexcept {
    for (std::size_t i = 0; i < g_timer_count; ++i) {
        source::delete_timer(g_timers[i]);
    }
    g_timer_count = 0;
    disarm_this_thread();
    area.header.stopped.store(1, std::memory_order_release);
    end_sampling_thread();
    process_state().source.store(Source::none, std::memory_order_relaxed);
}

bool uses_sampling_thread() noexcept {
    return process_state().has_sampling_thread;
}

void forget_sources() noexcept {
    process_state().source.store(Source::none, std::memory_order_relaxed);
    process_state().has_sampling_thread = false;
    source::forget_sampling_thread();
    g_timer_count = 0;
    t_timer_plus_one = 0;
}

void end_sampling_thread() noexcept {
    // A vfork child's memory is its parent's, the thread is the parent's, too.
    if (process_state().has_sampling_thread && source::end_sampling_thread()) {
        process_state().has_sampling_thread = false;
    }
}

WithoutSamplingThread::WithoutSamplingThread(bool wanted) noexcept
    : paused_{wanted && uses_sampling_thread() && source::pause_sampling_thread()} {}

WithoutSamplingThread::~WithoutSamplingThread() {
    if (paused_) {
        source::resume_sampling_thread();
    }
}

void arm_this_thread() noexcept {
    const Source source = process_state().source.load(std::memory_order_acquire);
    if (source == Source::perf) {
        pass_event_on();
    } else if (source == Source::timer) {
        const source::TimerId timer = source::create_thread_timer(
            current_tid(), capture::kAsyncSignal, capture::kSampleCookie);
        if (timer >= 0) {
            t_timer_plus_one = timer + 1;
            start_timer(timer);
        }
    }
}

void disarm_this_thread() noexcept {
    if (t_timer_plus_one != 0) {
        source::delete_timer(t_timer_plus_one - 1);
        g_running_timers.fetch_sub(1, std::memory_order_relaxed);
        t_timer_plus_one = 0;
    }
}

}  // namespace sample::agent

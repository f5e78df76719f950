#include "sampler/source/sampling_thread.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/transfers.h"
#include "sampler/source/futex_lock.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/raw_thread.h"
#include "sampler/source/sampling_loop.h"

#include <linux/futex.h>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kStackBytes = std::size_t{64} * 1024;

constinit SamplingLoop g_thread;
constinit FutexLock g_lock;  ///< Of what follows, and of the thread's start and end.
constinit int g_pauses = 0;
constinit bool g_resumes = false;

/// In a child of fork or vfork it is the parent's, and so is the area.
bool is_own_thread() noexcept {
    return raw_syscall(SYS_getpid) == g_thread.owner;
}

/// False: it had ended by itself, or there is no knowing when it will; it is not to be made anew.
bool end_and_wait() noexcept {
    const bool had_ended = g_thread.has_ended.load(std::memory_order_acquire) != 0;
    if (!had_ended) {
        release_sampling_thread(false, g_thread.interrupts, g_thread.signal);
    }
    // One that has ended by itself may be on its way still, and who leaves last gives the process
    // its status. A debugger may have stopped it, so this does not wait for ever.
    constexpr int kMostLooks = 10'000;
    // The word is cleared a moment before the thread is none of the process's any more; then its id
    // can be another thread's.
    bool is_there = g_thread.lives.load(std::memory_order_acquire) != 0;
    for (int look = 0; look < kMostLooks && is_there; ++look) {
        capture::sleep_briefly();
        is_there = g_thread.lives.load(std::memory_order_acquire) != 0 ||
                   raw_syscall(SYS_tgkill, g_thread.owner, g_thread.id, 0) == 0;
    }
    if (is_there) {
        g_thread.say_lost();
    }
    return !had_ended && !is_there;
}

int run_thread(void* pointer) noexcept {
    auto* thread = static_cast<SamplingLoop*>(pointer);
    thread->run();
    thread->has_ended.store(1, std::memory_order_release);
    return last_thread_status();
}

}  // namespace

int start_sampling_thread(const SamplingThreadJob& job) noexcept {
    g_thread.job = job;
    g_thread.owner = static_cast<int>(raw_syscall(SYS_getpid));
    g_thread.has_ended.store(0, std::memory_order_relaxed);
    g_thread.orders.store(wait_for_orders, std::memory_order_relaxed);
    g_thread.has_dropped_rights.store(0, std::memory_order_relaxed);
    g_thread.rests.store(false, std::memory_order_relaxed);
    g_thread.id = start_raw_thread(run_thread, &g_thread, kStackBytes, g_thread.lives);
    if (g_thread.id < 0) {
        g_thread.has_ended.store(1, std::memory_order_relaxed);
        return g_thread.id;
    }
    while (g_thread.has_dropped_rights.load(std::memory_order_acquire) == 0) {
        raw_syscall(SYS_futex, as_argument(&g_thread.has_dropped_rights), FUTEX_WAIT_PRIVATE, 0, 0);
    }
    return g_thread.id;
}

void release_sampling_thread(bool begins, bool interrupts, int signal) noexcept {
    g_thread.interrupts = interrupts;
    capture::watch_transfers(begins && interrupts);
    g_thread.signal = signal;
    g_thread.orders.store(begins ? look_on : end_thread);
    g_thread.wake();
}

bool end_sampling_thread() noexcept {
    if (!is_own_thread()) {
        return false;
    }
    const Locked locked{g_lock};
    end_and_wait();
    g_resumes = false;
    return true;
}

void note_thread_status(int status) noexcept {
    g_thread.last_status.store(status, std::memory_order_relaxed);
}

int last_thread_status() noexcept {
    return g_thread.last_status.load(std::memory_order_relaxed);
}

bool pause_sampling_thread() noexcept {
    if (!is_own_thread()) {
        return false;
    }
    const Locked locked{g_lock};
    if (g_pauses++ == 0) {
        g_resumes = end_and_wait();
    }
    return true;
}

void resume_sampling_thread() noexcept {
    const Locked locked{g_lock};
    if (--g_pauses != 0 || !g_resumes) {
        return;
    }
    if (start_sampling_thread(g_thread.job) >= 0) {
        release_sampling_thread(true, g_thread.interrupts, g_thread.signal);
    } else {
        g_thread.say_lost();
    }
}

void keep_sampling_thread_awake() noexcept {
    g_thread.may_rest.store(false);
    g_thread.wake();
}

void forget_sampling_thread() noexcept {
    g_lock.reset();
    forget_apart();
    note_thread_status(0);
    g_pauses = 0;
    g_resumes = false;
}

}  // namespace sample::source

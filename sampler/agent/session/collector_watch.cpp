#include "sampler/agent/session/collector_watch.h"

#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/session/patience.h"
#include "sampler/agent/session/session_key.h"
#include "sampler/capture/raw_syscall.h"

#include <linux/futex.h>

#include <cerrno>
#include <ctime>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::uint64_t kMostForASignNs = 2'000'000'000;
/// At 10 kHz there is a signal in so long.
constexpr std::uint64_t kAtAnInterruptionNs = 100'000;

// Of a forked child as of its parent: the session is the same.
constinit capture::SessionPage* g_page = nullptr;
constinit std::uint32_t g_collector_pid = 0;

}  // namespace

void set_up_watch(capture::SessionPage* page, std::uint32_t collector) noexcept {
    g_page = page;
    g_collector_pid = collector;
}

std::uint32_t collector_pid() noexcept {
    return g_collector_pid;
}

capture::SessionPage* session_page() noexcept {
    return g_page;
}

void ring_doorbell() noexcept {
    g_page->doorbell.fetch_add(1, std::memory_order_release);
    raw_syscall(SYS_futex, as_argument(&g_page->doorbell), FUTEX_WAKE, 1);
}

bool wait_for(std::atomic<std::uint32_t>& ack, std::uint32_t wanted,
              std::uint64_t most_ns) noexcept {
    Patience patience{static_cast<int>(g_collector_pid), most_ns};
    // A filter that forbids joining may forbid to look at the collector: then waits are counted.
    const bool may_look = may_join();
    std::uint64_t counted_ns = 0;
    for (;;) {
        const std::uint32_t seen = ack.load(std::memory_order_acquire);
        if (static_cast<std::int32_t>(seen - wanted) >= 0) {
            return true;
        }
        if (!may_wait()) {
            return false;
        }
        const timespec slice{0, Patience::kSliceNs};
        const long result =
            raw_syscall(SYS_futex, as_argument(&ack), FUTEX_WAIT, seen, as_argument(&slice));
        if (result == 0 || result == -EAGAIN) {
            continue;
        }
        counted_ns += result == -ETIMEDOUT ? Patience::kSliceNs : kAtAnInterruptionNs;
        if (may_look ? !patience.goes_on() : counted_ns >= Patience::kQuietNs) {
            leave_word();
            return false;
        }
    }
}

bool may_wait() noexcept {
    return g_page == nullptr ? session_may_be_waited_for()
                             : g_page->stalled.load(std::memory_order_relaxed) == 0;
}

void leave_word() noexcept {
    if (g_page != nullptr) {
        g_page->stalled.store(1, std::memory_order_relaxed);
    }
    mark_session(false);
}

void ask_collector() noexcept {
    if (g_page == nullptr) {
        return;
    }
    const std::uint32_t ping = g_page->pings.fetch_add(1, std::memory_order_acq_rel) + 1;
    ring_doorbell();
    mark_session(wait_for(g_page->pongs, ping, kMostForASignNs));
}

}  // namespace sample::agent

#include "sampler/agent/session/session_state.h"

#include "core/kernel_clock.h"
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/session/patience.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <linux/futex.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kMaxName = 40;
constexpr std::size_t kSecretDigits = 2 * sizeof(control::Secret);

constinit std::array<char, 128> g_entry{};
constinit std::size_t g_mark_at = 0;  // in g_entry; 0: no session is known
constinit std::array<char, kMaxName + 1> g_name{};
constinit control::Secret g_secret{};

/// Who begins within that time believes the last one. A command that starts 1,000 others a second
/// asks for one in 20 of them.
constexpr std::uint64_t kSignLastsNs = 20'000'000;
constexpr std::uint64_t kMostForASignNs = 2'000'000'000;

/// At 10 kHz there is a signal in so long.
constexpr std::uint64_t kAtAnInterruptionNs = 100'000;

// Of a forked child as of its parent: the session is the same.
constinit capture::SessionPage* g_page = nullptr;
constinit std::uint32_t g_collector_pid = 0;
constinit std::array<char, control::kControlPathBytes> g_control_socket{};

/// 0 to 15, or -1.
int digit(char text) noexcept {
    if (text >= '0' && text <= '9') {
        return text - '0';
    }
    return text >= 'a' && text <= 'f' ? text - 'a' + 10 : -1;
}

bool parse_secret(const char* text, control::Secret& secret) noexcept {
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const int high = digit(text[2 * i]);
        const int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        secret[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

}  // namespace

bool set_session(const char* text) noexcept {
    const std::size_t name = strcspn(text, ":");
    const std::size_t variable = strlen(control::kSessionVariable);
    const std::size_t size = name + 1 + kSecretDigits + 2;
    control::Secret secret{};
    if (name == 0 || name > kMaxName || strnlen(text, size + 1) != size || text[size - 2] != ':' ||
        variable + 1 + size >= g_entry.size() || !parse_secret(text + name + 1, secret)) {
        return false;
    }
    g_secret = secret;
    memcpy(g_name.data(), text, name);
    g_name[name] = '\0';
    memcpy(g_entry.data(), control::kSessionVariable, variable);
    g_entry[variable] = '=';
    memcpy(g_entry.data() + variable + 1, text, size + 1);
    g_mark_at = variable + size;
    return true;
}

const char* session_name() noexcept {
    return g_name.data();
}

const control::Secret& session_secret() noexcept {
    return g_secret;
}

bool session_may_be_waited_for() noexcept {
    return g_entry[g_mark_at] != control::kMustNotWait;
}

const char* session_entry() noexcept {
    return g_entry.data();
}

void mark_session(bool may_wait) noexcept {
    const char mark = may_wait ? control::kMayWait : control::kMustNotWait;
    if (g_mark_at == 0 || g_entry[g_mark_at] == mark) {
        return;
    }
    g_entry[g_mark_at] = mark;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, g_entry.data(), g_mark_at) == 0 && (*entry)[g_mark_at] != '\0') {
            (*entry)[g_mark_at] = mark;
        }
    }
}

void set_up_watch(capture::SessionPage* page, std::uint32_t collector) noexcept {
    g_page = page;
    g_collector_pid = collector;
}

const char* control_socket() noexcept {
    return g_control_socket.data();
}

void set_control_socket(const char* path) noexcept {
    const std::size_t size = strnlen(path, g_control_socket.size());
    if (size < g_control_socket.size()) {
        memcpy(g_control_socket.data(), path, size + 1);
    }
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

/// The session's loop may be busy for longer; the others answer at once, or not at all.
static void give_up(AnsweredBy by) noexcept {
    if (by != AnsweredBy::session) {
        leave_word();
    }
}

bool wait_for(std::atomic<std::uint32_t>& ack, std::uint32_t wanted, std::uint64_t most_ns,
              AnsweredBy by) noexcept {
    const auto collector = static_cast<int>(g_collector_pid);
    const bool by_loop = by == AnsweredBy::session;
    const std::uint64_t quiet_ns = by_loop ? most_ns : Patience::kQuietNs;
    const std::uint64_t in_kernel_ns = by == AnsweredBy::recording ? Patience::kMostForADiskNs : 0;
    Patience patience{collector, most_ns, quiet_ns, in_kernel_ns};
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
        if (by_loop && may_look && is_dead(collector)) {
            return false;
        }
        if (may_look ? !patience.goes_on() : counted_ns >= quiet_ns) {
            give_up(by);
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
    const std::uint64_t now_ns = read_kernel_clock_ns(CLOCK_MONOTONIC);
    if (now_ns - g_page->answered_ns.load(std::memory_order_relaxed) > kSignLastsNs) {
        const std::uint32_t ping = g_page->pings.fetch_add(1, std::memory_order_acq_rel) + 1;
        ring_doorbell();
        if (!wait_for(g_page->pongs, ping, kMostForASignNs)) {
            mark_session(false);
            return;
        }
        g_page->answered_ns.store(now_ns, std::memory_order_relaxed);
    }
    mark_session(may_wait());
}

}  // namespace sample::agent

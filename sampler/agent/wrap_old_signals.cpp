// BSD's and System V's calls for masks and actions, and libc's other names of today's: inside libc
// they go past our wrappers. Each is made here of the calls that replaced it, as libc does.
//
// Source: glibc signal/sigblock.c and its neighbours; sigset(3), sigpause(3), sigvec(3).
#include "sampler/agent/export.h"
#include "sampler/agent/masked_wait.h"
#include "sampler/agent/real.h"
#include "sampler/agent/signal_calls.h"
#include "sampler/agent/signal_relay.h"

#include <poll.h>

#include <cerrno>
#include <csignal>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t)>
    g_ppoll_chk{"__ppoll_chk"};

/// The first 32 signals of a set.
sigset_t set_of(int mask) noexcept {
    sigset_t set{};
    set.__val[0] = static_cast<unsigned>(mask);
    return set;
}
int mask_of(const sigset_t& set) noexcept {
    return static_cast<int>(set.__val[0]);
}

int change_old_mask(int how, int mask) noexcept {
    const sigset_t set = set_of(mask);
    sigset_t old{};
    return sigprocmask(how, &set, &old) != 0 ? -1 : mask_of(old);
}

int change_one(int how, int signal) noexcept {
    sigset_t set{};
    return sigaddset(&set, signal) != 0 ? -1 : sigprocmask(how, &set, nullptr);
}

int pause_without(int signal) noexcept {
    sigset_t set{};
    if (sigprocmask(SIG_BLOCK, nullptr, &set) != 0 || sigdelset(&set, signal) != 0) {
        return -1;
    }
    return sigsuspend(&set);
}

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names.
extern "C" {

SAMPLE_WRAPPER int sigblock(int mask) noexcept {
    return agent::change_old_mask(SIG_BLOCK, mask);
}
SAMPLE_WRAPPER int sigsetmask(int mask) noexcept {
    return agent::change_old_mask(SIG_SETMASK, mask);
}
SAMPLE_WRAPPER int siggetmask() noexcept {
    return agent::change_old_mask(SIG_BLOCK, 0);
}

SAMPLE_WRAPPER int sighold(int signal) noexcept {
    return agent::change_one(SIG_BLOCK, signal);
}
SAMPLE_WRAPPER int sigrelse(int signal) noexcept {
    return agent::change_one(SIG_UNBLOCK, signal);
}

SAMPLE_WRAPPER int sigignore(int signal) noexcept {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    return sigaction(signal, &action, nullptr);
}

SAMPLE_WRAPPER sighandler_t sigset(int signal, sighandler_t handler) noexcept {
    struct sigaction action {};
    struct sigaction old {};
    sigset_t set{};
    sigset_t old_set{};
    if (handler == SIG_ERR || sigaddset(&set, signal) != 0) {
        errno = EINVAL;
        return SIG_ERR;
    }
    const bool holds = handler == SIG_HOLD;
    action.sa_handler = handler;
    if (sigaction(signal, holds ? nullptr : &action, &old) != 0 ||
        sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &old_set) != 0) {
        return SIG_ERR;
    }
    return sigismember(&old_set, signal) == 1 ? SIG_HOLD : old.sa_handler;
}

SAMPLE_WRAPPER int __sigpause(int signal_or_mask, int is_signal) {
    if (is_signal != 0) {
        return agent::pause_without(signal_or_mask);
    }
    const sigset_t set = agent::set_of(signal_or_mask);
    return sigsuspend(&set);
}
// What headers call sigpause is the other one.
SAMPLE_WRAPPER int sample_bsd_sigpause(int mask) __asm__("sigpause");
int sample_bsd_sigpause(int mask) {
    return __sigpause(mask, 0);
}
SAMPLE_WRAPPER int __xpg_sigpause(int signal) {
    return __sigpause(signal, 1);
}

SAMPLE_WRAPPER int __sigaction(int signal, const struct sigaction* action,
                               struct sigaction* old) noexcept {
    return sigaction(signal, action, old);
}
SAMPLE_WRAPPER int __sigsuspend(const sigset_t* set) {
    return sigsuspend(set);
}

SAMPLE_WRAPPER int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                               const sigset_t* set, std::size_t bytes) {
    return agent::wait_under(set, [&](const sigset_t* mask) {
        return agent::g_ppoll_chk.get()(fds, count, timeout, mask, bytes);
    });
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

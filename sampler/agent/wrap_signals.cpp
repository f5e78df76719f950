// The libc calls through which a program sees or changes dispositions and masks.
//
// Our signal is taken out of what reaches the kernel and put back into what the program is shown.
// All other signals pass through untouched. Numbers that the calls see:
//   sigaction, signal & kin: our number is kept in ProgramView; of others only the sa_mask is
//       cleaned, and handlers on the alternate stack are relayed (signal_relay.h)
//   sigaltstack: kept beside ours (alternate_stack.h)
//   mask calls: our bit is kept per thread (signals.h)
//   sigwait & kin: our number is waited for by ProgramView's pending flag, in short slices
//   signalfd: our bit is dropped; a program's own signal of that number is not seen there
#include "sampler/agent/alternate_stack.h"
#include "sampler/agent/export.h"
#include "sampler/agent/masked_wait.h"
#include "sampler/agent/program_view.h"
#include "sampler/agent/real.h"
#include "sampler/agent/signal_calls.h"
#include "sampler/agent/signal_relay.h"
#include "sampler/agent/signals.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<int(int, const struct sigaction*, struct sigaction*)> g_sigaction{
    "sigaction"};
SAMPLE_REAL constinit Real<int(int, const sigset_t*, sigset_t*)> g_pthread_sigmask{
    "pthread_sigmask"};
SAMPLE_REAL constinit Real<int(int, const sigset_t*, sigset_t*)> g_sigprocmask{"sigprocmask"};
SAMPLE_REAL constinit Real<int(const sigset_t*)> g_sigsuspend{"sigsuspend"};
SAMPLE_REAL constinit Real<int(const sigset_t*, int*)> g_sigwait{"sigwait"};
SAMPLE_REAL constinit Real<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait{
    "sigtimedwait"};
SAMPLE_REAL constinit Real<int(int, const sigset_t*, int)> g_signalfd{"signalfd"};
SAMPLE_REAL constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll{"ppoll"};
SAMPLE_REAL constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>
    g_pselect{"pselect"};
SAMPLE_REAL constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> g_epoll_pwait{
    "epoll_pwait"};
SAMPLE_REAL constinit Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)>
    g_epoll_pwait2{"epoll_pwait2"};

SAMPLE_REAL constinit Real<int(sigset_t*)> g_sigpending{"sigpending"};
SAMPLE_REAL constinit Real<int(int, int)> g_siginterrupt{"siginterrupt"};
SAMPLE_REAL constinit Real<sighandler_t(int, sighandler_t)> g_signal{"signal"};
SAMPLE_REAL constinit Real<sighandler_t(int, sighandler_t)> g_sysv_signal{"__sysv_signal"};

/// siginterrupt() of our signal, for those who call signal() afterwards.
constinit std::atomic<bool> g_own_interrupts{false};

/// As libc does it, which knows what siginterrupt() said.
sighandler_t set_other(Real<sighandler_t(int, sighandler_t)>& real, int number,
                       sighandler_t handler) noexcept {
    const sighandler_t old = real.get()(number, handler);
    if (old != SIG_ERR && own_signal() != 0) {
        note_mask_held(number, false);
    }
    return program_handler(number, old);
}

}  // namespace

int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
    return g_sigaction.get()(signal, action, old);
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* old) noexcept {
    return agent::set_action(signal, action, old, agent::real_sigaction);
}

SAMPLE_WRAPPER sighandler_t signal(int number, sighandler_t handler) noexcept {
    const int own = agent::own_signal();
    if (own == 0 || number != own || handler == SIG_ERR) {
        return agent::set_other(agent::g_signal, number, handler);
    }
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = handler;
    action.sa_flags = agent::g_own_interrupts.load() ? 0 : SA_RESTART;
    sigaddset(&action.sa_mask, number);
    return agent::set_action(number, &action, &old, agent::real_sigaction) == 0 ? old.sa_handler
                                                                                : SIG_ERR;
}

SAMPLE_WRAPPER sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
    return signal(number, handler);
}

SAMPLE_WRAPPER sighandler_t ssignal(int number, sighandler_t handler) noexcept {
    return signal(number, handler);
}

SAMPLE_WRAPPER sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
    const int own = agent::own_signal();
    if (own == 0 || number != own || handler == SIG_ERR) {
        return agent::set_other(agent::g_sysv_signal, number, handler);
    }
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    return agent::set_action(number, &action, &old, agent::real_sigaction) == 0 ? old.sa_handler
                                                                                : SIG_ERR;
}

SAMPLE_WRAPPER sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
    return __sysv_signal(number, handler);
}

SAMPLE_WRAPPER int siginterrupt(int number, int interrupts) noexcept {
    const int own = agent::own_signal();
    if (own == 0 || number != own) {
        return agent::g_siginterrupt.get()(number, interrupts);
    }
    agent::g_own_interrupts.store(interrupts != 0);
    struct sigaction action = agent::program_view().action();
    action.sa_flags =
        interrupts != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return agent::set_action(number, &action, nullptr, agent::real_sigaction);
}

SAMPLE_WRAPPER int sigpending(sigset_t* set) noexcept {
    const int result = agent::g_sigpending.get()(set);
    if (result == 0) {
        agent::add_pending(*set);
    }
    return result;
}

SAMPLE_WRAPPER int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
    const long result = agent::program_sigaltstack(
        stack, old, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
    if (result != 0) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return 0;
}

SAMPLE_WRAPPER int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return agent::change_mask(how, set, old, agent::g_sigprocmask.get());
}

SAMPLE_WRAPPER int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return agent::change_mask(how, set, old, agent::g_pthread_sigmask.get());
}

SAMPLE_WRAPPER int sigsuspend(const sigset_t* set) {
    return agent::wait_under(set,
                             [&](const sigset_t* mask) { return agent::g_sigsuspend.get()(mask); });
}

SAMPLE_WRAPPER int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
    const agent::WithoutOwn cleaned{set};
    if (!cleaned.held()) {
        return agent::g_sigtimedwait.get()(set, info, timeout);
    }
    return agent::wait_in_slices(cleaned.get(), info, timeout, agent::g_sigtimedwait.get());
}

SAMPLE_WRAPPER int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
    return sigtimedwait(set, info, nullptr);
}

SAMPLE_WRAPPER int sigwait(const sigset_t* set, int* number) {
    const agent::WithoutOwn cleaned{set};
    if (!cleaned.held()) {
        return agent::g_sigwait.get()(set, number);
    }
    for (;;) {
        const int result =
            agent::wait_in_slices(cleaned.get(), nullptr, nullptr, agent::g_sigtimedwait.get());
        if (result > 0) {
            *number = result;
            return 0;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
}

SAMPLE_WRAPPER int signalfd(int fd, const sigset_t* set, int flags) noexcept {
    const agent::WithoutOwn cleaned{set};
    return agent::g_signalfd.get()(fd, cleaned.get(), flags);
}

SAMPLE_WRAPPER int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* set) {
    return agent::wait_under(
        set, [&](const sigset_t* mask) { return agent::g_ppoll.get()(fds, count, timeout, mask); });
}

SAMPLE_WRAPPER int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                           const timespec* timeout, const sigset_t* set) {
    return agent::wait_under(set, [&](const sigset_t* mask) {
        return agent::g_pselect.get()(count, read, write, except, timeout, mask);
    });
}

SAMPLE_WRAPPER int epoll_pwait(int fd, epoll_event* events, int count, int timeout,
                               const sigset_t* set) {
    return agent::wait_under(set, [&](const sigset_t* mask) {
        return agent::g_epoll_pwait.get()(fd, events, count, timeout, mask);
    });
}

SAMPLE_WRAPPER int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                                const sigset_t* set) {
    auto* real = agent::g_epoll_pwait2.get();
    if (real == nullptr) {
        errno = ENOSYS;
        return -1;
    }
    return agent::wait_under(
        set, [&](const sigset_t* mask) { return real(fd, events, count, timeout, mask); });
}

}  // extern "C"

// The libc calls through which a program sees or changes dispositions and masks.
//
// Our signal is taken out of what reaches the kernel and put back into what the program is shown.
// All other signals pass through untouched. Numbers that the calls see:
//   sigaction, signal & kin: our number is kept in ProgramView; of others only the sa_mask is
//       cleaned, and handlers are relayed (signal_relay.h)
//   sigaltstack: kept beside ours (alternate_stack.h)
//   mask calls: our bit is kept per thread (signals.h)
//   sigwait & kin: our number is waited for by ProgramView's pending flag, in short slices
//   signalfd: our bit is dropped; a program's own signal of that number is not seen there
//   siglongjmp & kin: a jump out of the program's own handler of our signal gives the thread the
//       mask that was saved with its target; our signal is in no real mask, so the program's view
//       of it is put back here. A target inside the handler itself is taken for one outside, as
//       nothing tells them apart: our signal is open from there on, and not when the handler ends
// BSD's and System V's calls, and libc's other names of today's, go past all wrappers inside libc:
// each is made here of the calls that replaced it, as libc does.
//
// Source: glibc signal/sigblock.c and its neighbours; sigset(3), sigpause(3), sigvec(3).
#include "sampler/agent/signals/signals.h"

#include "sampler/agent/processes/readable.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signal_calls.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/libraries.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <ctime>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_sigaction, "sigaction", int(int, const struct sigaction*, struct sigaction*));
SAMPLE_NEXT(g_pthread_sigmask, "pthread_sigmask", int(int, const sigset_t*, sigset_t*));
SAMPLE_NEXT(g_sigprocmask, "sigprocmask", int(int, const sigset_t*, sigset_t*));
SAMPLE_NEXT(g_sigsuspend, "sigsuspend", int(const sigset_t*));
SAMPLE_NEXT(g_sigwait, "sigwait", int(const sigset_t*, int*));
SAMPLE_NEXT(g_sigtimedwait, "sigtimedwait", int(const sigset_t*, siginfo_t*, const timespec*));
SAMPLE_NEXT(g_signalfd, "signalfd", int(int, const sigset_t*, int));
SAMPLE_NEXT(g_ppoll, "ppoll", int(pollfd*, nfds_t, const timespec*, const sigset_t*));
SAMPLE_NEXT(g_ppoll_chk, "__ppoll_chk",
            int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t));
SAMPLE_NEXT(g_pselect, "pselect",
            int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*));
SAMPLE_NEXT(g_epoll_pwait, "epoll_pwait", int(int, epoll_event*, int, int, const sigset_t*));
SAMPLE_NEXT(g_epoll_pwait2, "epoll_pwait2",
            int(int, epoll_event*, int, const timespec*, const sigset_t*));

SAMPLE_NEXT(g_sigpending, "sigpending", int(sigset_t*));
SAMPLE_NEXT(g_siginterrupt, "siginterrupt", int(int, int));
SAMPLE_NEXT(g_signal, "signal", sighandler_t(int, sighandler_t));
SAMPLE_NEXT(g_sysv_signal, "__sysv_signal", sighandler_t(int, sighandler_t));

using Jump = void(__jmp_buf_tag*, int);

SAMPLE_NEXT(g_longjmp, "longjmp", Jump);
SAMPLE_NEXT(g_longjmp_chk, "__longjmp_chk", Jump);

/// siginterrupt() of our signal, for those who call signal() afterwards.
constinit std::atomic<bool> g_own_interrupts{false};

/// signal(2) and its kin, whose action has `flags`; of another signal than ours as libc does it,
/// which knows what siginterrupt() said.
sighandler_t set_handler(NextDefinition<sighandler_t(int, sighandler_t)>& next, int number,
                         sighandler_t handler, int flags) noexcept {
    const int own = own_signal();
    if (own == 0 || number != own || handler == SIG_ERR) {
        const sighandler_t old = program_signal(number, handler, next.get());
        if (old != SIG_ERR && own != 0) {
            note_mask_held(number, false);
        }
        return old;
    }
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    if ((flags & SA_NODEFER) == 0) {
        sigaddset(&action.sa_mask, number);
    }
    return set_action(number, &action, &old, next_sigaction) == 0 ? old.sa_handler : SIG_ERR;
}

/// Of the first 32 signals.
int change_old_mask(int how, int mask) noexcept {
    const sigset_t set = set_of(static_cast<unsigned>(mask));
    sigset_t old{};
    return sigprocmask(how, &set, &old) != 0 ? -1 : static_cast<int>(mask_of(old));
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

[[noreturn]] void jump(NextDefinition<Jump>& real, __jmp_buf_tag* target, int value) noexcept {
    note_jump(target->__mask_was_saved != 0);
    TemporaryMask::forget();
    capture::InterruptibleReader::give_up();
    real.get()(target, value);
    __builtin_unreachable();
}

}  // namespace

int next_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
    return g_sigaction.get()(signal, action, old);
}

}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names.
extern "C" {

SAMPLE_WRAPPER int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* old) noexcept {
    return agent::set_action(signal, action, old, agent::next_sigaction);
}

SAMPLE_WRAPPER int __sigaction(int signal, const struct sigaction* action,
                               struct sigaction* old) noexcept __attribute__((alias("sigaction")));

SAMPLE_WRAPPER sighandler_t signal(int number, sighandler_t handler) noexcept {
    return agent::set_handler(agent::g_signal, number, handler,
                              agent::g_own_interrupts.load() ? 0 : SA_RESTART);
}
SAMPLE_WRAPPER sighandler_t bsd_signal(int number, sighandler_t handler) noexcept
    __attribute__((alias("signal")));
SAMPLE_WRAPPER sighandler_t ssignal(int number, sighandler_t handler) noexcept
    __attribute__((alias("signal")));

SAMPLE_WRAPPER sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
    return agent::set_handler(agent::g_sysv_signal, number, handler,
                              static_cast<int>(SA_RESETHAND | SA_NODEFER));
}
SAMPLE_WRAPPER sighandler_t sysv_signal(int number, sighandler_t handler) noexcept
    __attribute__((alias("__sysv_signal")));

SAMPLE_WRAPPER int siginterrupt(int number, int interrupts) noexcept {
    const int own = agent::own_signal();
    if (own == 0 || number != own) {
        const int result = agent::g_siginterrupt.get()(number, interrupts);
        struct sigaction changed {};
        if (result == 0 && sigaction(number, nullptr, &changed) == 0) {
            sigaction(number, &changed, nullptr);  // libc has changed it past us
        }
        return result;
    }
    agent::g_own_interrupts.store(interrupts != 0);
    struct sigaction action = agent::program_view().action();
    action.sa_flags =
        interrupts != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return agent::set_action(number, &action, nullptr, agent::next_sigaction);
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

SAMPLE_WRAPPER int __sigsuspend(const sigset_t* set) {
    return sigsuspend(set);
}

SAMPLE_WRAPPER int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
    if (agent::leads_nowhere(set)) {
        return agent::g_sigtimedwait.get()(set, info, timeout);
    }
    const agent::WithoutOwn cleaned{set};
    if (!cleaned.held() || (timeout != nullptr && !agent::Readable{}.object(timeout))) {
        return agent::g_sigtimedwait.get()(set, info, timeout);
    }
    return agent::wait_in_slices(cleaned.get(), info, timeout, agent::g_sigtimedwait.get());
}

SAMPLE_WRAPPER int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
    return sigtimedwait(set, info, nullptr);
}

SAMPLE_WRAPPER int sigwait(const sigset_t* set, int* number) {
    if (agent::leads_nowhere(set)) {
        return agent::g_sigwait.get()(set, number);
    }
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
    if (agent::leads_nowhere(set)) {
        return agent::g_signalfd.get()(fd, set, flags);
    }
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
    const sigset_t set = agent::set_of(static_cast<unsigned>(signal_or_mask));
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

SAMPLE_WRAPPER int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                               const sigset_t* set, std::size_t bytes) {
    return agent::wait_under(set, [&](const sigset_t* mask) {
        return agent::g_ppoll_chk.get()(fds, count, timeout, mask, bytes);
    });
}

SAMPLE_WRAPPER void siglongjmp(sigjmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
SAMPLE_WRAPPER void longjmp(jmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
SAMPLE_WRAPPER void _longjmp(jmp_buf target, int value) noexcept {
    agent::jump(agent::g_longjmp, target, value);
}
[[noreturn]] SAMPLE_WRAPPER void __longjmp_chk(__jmp_buf_tag* target, int value) noexcept {
    agent::jump(agent::g_longjmp_chk, target, value);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

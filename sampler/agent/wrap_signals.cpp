// The libc calls through which a program sees or changes dispositions and masks.
//
// Our signal is taken out of what reaches the kernel and put back into what the program is shown.
// All other signals pass through untouched. Numbers that the calls see:
//   sigaction, signal & kin   our number: kept in ProgramView; others: only their sa_mask is
//   cleaned mask calls                our bit is kept per thread (signals.h) sigwait & kin our
//   number is waited for by ProgramView's pending flag, in short slices signalfd our bit is
//   dropped: a program's own signal of that number is not seen there
#include "sampler/agent/export.h"
#include "sampler/agent/program_view.h"
#include "sampler/agent/real.h"
#include "sampler/agent/signals.h"
#include "sampler/capture/capture.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace sample::agent {
namespace {

constinit Real<int(int, const struct sigaction*, struct sigaction*)> g_sigaction{"sigaction"};
constinit Real<int(int, const sigset_t*, sigset_t*)> g_pthread_sigmask{"pthread_sigmask"};
constinit Real<int(int, const sigset_t*, sigset_t*)> g_sigprocmask{"sigprocmask"};
constinit Real<int(const sigset_t*)> g_sigsuspend{"sigsuspend"};
constinit Real<int(const sigset_t*, int*)> g_sigwait{"sigwait"};
constinit Real<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait{"sigtimedwait"};
constinit Real<int(int, const sigset_t*, int)> g_signalfd{"signalfd"};
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll{"ppoll"};
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> g_pselect{
    "pselect"};
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> g_epoll_pwait{"epoll_pwait"};
constinit Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)> g_epoll_pwait2{
    "epoll_pwait2"};

constinit Real<int(const stack_t*, stack_t*)> g_sigaltstack{"sigaltstack"};
constinit Real<int(sigset_t*)> g_sigpending{"sigpending"};
constinit Real<int(int, int)> g_siginterrupt{"siginterrupt"};
constinit Real<sighandler_t(int, sighandler_t)> g_signal{"signal"};
constinit Real<sighandler_t(int, sighandler_t)> g_sysv_signal{"__sysv_signal"};

/// siginterrupt() of our signal, for those who call signal() afterwards.
constinit std::atomic<bool> g_own_interrupts{false};

constexpr long kWaitSliceNs = 20'000'000;

/// A copy of a set without our signal, or the set itself where it does not hold it.
class WithoutOwn {
public:
    explicit WithoutOwn(const sigset_t* set) noexcept : set_{set} {
        const int own = own_signal();
        if (set != nullptr && own != 0 && sigismember(set, own) == 1) {
            copy_ = *set;
            sigdelset(&copy_, own);
            set_ = &copy_;
            held_ = true;
        }
    }
    ~WithoutOwn() = default;
    WithoutOwn(const WithoutOwn&) = delete;
    WithoutOwn& operator=(const WithoutOwn&) = delete;
    [[nodiscard]] const sigset_t* get() const noexcept { return set_; }
    [[nodiscard]] bool held() const noexcept { return held_; }

private:
    const sigset_t* set_;
    sigset_t copy_{};
    bool held_ = false;
};

template <class Call>
int change_mask(int how, const sigset_t* set, sigset_t* old, Call* real) noexcept {
    const WithoutOwn cleaned{set};
    const bool blocked_before = program_blocks_own_signal();
    const int own = own_signal();
    // A vfork child has a mask of its own, but its parent's view.
    const bool passes = own != 0 && (cleaned.held() || blocked_before) && !is_owner();
    const int result = real(how, passes ? set : cleaned.get(), old);
    if (result != 0 || own == 0) {
        return result;
    }
    if (old != nullptr && blocked_before) {
        sigaddset(old, own);
    }
    if (set != nullptr && !passes) {
        if (how == SIG_SETMASK || cleaned.held()) {
            set_program_blocks_own_signal(how == SIG_UNBLOCK ? false : cleaned.held());
        }
        deliver_pending();
    }
    return result;
}

timespec now_monotonic() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

bool is_before(const timespec& a, const timespec& b) noexcept {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

timespec add(timespec a, const timespec& b) noexcept {
    a.tv_sec += b.tv_sec;
    a.tv_nsec += b.tv_nsec;
    if (a.tv_nsec >= 1'000'000'000) {
        ++a.tv_sec;
        a.tv_nsec -= 1'000'000'000;
    }
    return a;
}

/// sigtimedwait for a set that holds our signal: the others are waited for in slices, ours is
/// looked up in between. `timeout` null: for ever.
int wait_in_slices(const sigset_t* others, siginfo_t* info, const timespec* timeout) noexcept {
    const timespec end = timeout != nullptr ? add(now_monotonic(), *timeout) : timespec{};
    for (;;) {
        siginfo_t own_info{};
        if (program_view().take_pending(&own_info)) {
            if (info != nullptr) {
                *info = own_info;
            }
            return own_signal();
        }
        const timespec slice{0, kWaitSliceNs};
        const int result = g_sigtimedwait.get()(others, info, &slice);
        if (result >= 0 || errno != EAGAIN) {
            return result;
        }
        if (timeout != nullptr && !is_before(now_monotonic(), end)) {
            errno = EAGAIN;
            return -1;
        }
    }
}

int change_own_action(const struct sigaction* action, struct sigaction* old) noexcept {
    const int own = own_signal();
    const struct sigaction before = program_view().action();
    int result = 0;
    if (action != nullptr && is_owner()) {
        set_own_action(*action);
    } else if (action != nullptr) {
        result = real_sigaction(own, action, nullptr);
    }
    if (result == 0 && old != nullptr) {
        *old = before;
    }
    return result;
}

/// Once our signal is given back, our handler stays in the place of the default (signals.h).
void hide_own_handler(struct sigaction* action) noexcept {
    if (action != nullptr && action->sa_sigaction == capture::on_signal) {
        *action = {};
    }
}

/// As libc does it, which knows what siginterrupt() said.
sighandler_t set_other(Real<sighandler_t(int, sighandler_t)>& real, int number,
                       sighandler_t handler) noexcept {
    const sighandler_t old = real.get()(number, handler);
    if (old != SIG_ERR && own_signal() != 0) {
        program_view().set_mask_held(number, false);
    }
    return old;
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
    const int own = agent::own_signal();
    if (own == 0) {
        const int result = agent::real_sigaction(signal, action, old);
        agent::hide_own_handler(old);
        return result;
    }
    if (signal == own) {
        return agent::change_own_action(action, old);
    }
    if (signal < 1 || signal > 64) {
        return agent::real_sigaction(signal, action, old);
    }
    struct sigaction passed {};
    bool held = false;
    if (action != nullptr) {
        passed = *action;
        held = sigismember(&action->sa_mask, own) == 1;
        if (agent::leaves_no_room(passed)) {
            sigaddset(&passed.sa_mask, own);
        } else {
            sigdelset(&passed.sa_mask, own);
        }
    }
    const bool held_before = agent::program_view().mask_held(signal);
    const int result = agent::real_sigaction(signal, action != nullptr ? &passed : nullptr, old);
    if (result == 0 && action != nullptr) {
        agent::program_view().set_mask_held(signal, held);
    }
    if (result == 0 && old != nullptr) {
        if (held_before) {
            sigaddset(&old->sa_mask, own);
        } else {
            sigdelset(&old->sa_mask, own);
        }
    }
    return result;
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
    return agent::change_own_action(&action, &old) == 0 ? old.sa_handler : SIG_ERR;
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
    return agent::change_own_action(&action, &old) == 0 ? old.sa_handler : SIG_ERR;
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
    return agent::change_own_action(&action, nullptr);
}

SAMPLE_WRAPPER int sigpending(sigset_t* set) noexcept {
    const int result = agent::g_sigpending.get()(set);
    const int own = agent::own_signal();
    if (result == 0 && own != 0 && agent::program_blocks_own_signal() &&
        agent::program_view().is_pending()) {
        sigaddset(set, own);
    }
    return result;
}

SAMPLE_WRAPPER int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
    if (stack != nullptr && (stack->ss_flags & SS_DISABLE) == 0) {
        agent::note_alternate_stack(stack->ss_size);
    }
    return agent::g_sigaltstack.get()(stack, old);
}

SAMPLE_WRAPPER int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return agent::change_mask(how, set, old, agent::g_sigprocmask.get());
}

SAMPLE_WRAPPER int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return agent::change_mask(how, set, old, agent::g_pthread_sigmask.get());
}

SAMPLE_WRAPPER int sigsuspend(const sigset_t* set) {
    const agent::WithoutOwn cleaned{set};
    return agent::g_sigsuspend.get()(cleaned.get());
}

SAMPLE_WRAPPER int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
    const agent::WithoutOwn cleaned{set};
    if (!cleaned.held()) {
        return agent::g_sigtimedwait.get()(set, info, timeout);
    }
    return agent::wait_in_slices(cleaned.get(), info, timeout);
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
        const int result = agent::wait_in_slices(cleaned.get(), nullptr, nullptr);
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
    const agent::WithoutOwn cleaned{set};
    return agent::g_ppoll.get()(fds, count, timeout, cleaned.get());
}

SAMPLE_WRAPPER int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                           const timespec* timeout, const sigset_t* set) {
    const agent::WithoutOwn cleaned{set};
    return agent::g_pselect.get()(count, read, write, except, timeout, cleaned.get());
}

SAMPLE_WRAPPER int epoll_pwait(int fd, epoll_event* events, int count, int timeout,
                               const sigset_t* set) {
    const agent::WithoutOwn cleaned{set};
    return agent::g_epoll_pwait.get()(fd, events, count, timeout, cleaned.get());
}

SAMPLE_WRAPPER int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                                const sigset_t* set) {
    const agent::WithoutOwn cleaned{set};
    auto* real = agent::g_epoll_pwait2.get();
    if (real == nullptr) {
        errno = ENOSYS;
        return -1;
    }
    return real(fd, events, count, timeout, cleaned.get());
}

}  // extern "C"

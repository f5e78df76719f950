// Signals that are sent: handlers, masks, waits, timers.
#include "handlers.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

namespace storm {
namespace {

volatile std::sig_atomic_t g_met = 0;
volatile int g_value = 0;

constexpr int kHandled[] = {SIGUSR1, SIGUSR2, SIGTRAP, SIGURG, SIGPROF,
                            SIGALRM, SIGHUP,  SIGCHLD, SIGIO,  SIGWINCH};

void count(int /*signal*/) {
    g_met = g_met + 1;
}

void count_value(int /*signal*/, siginfo_t* info, void* /*context*/) {
    g_met = g_met + 1;
    g_value = g_value * 10 + info->si_value.sival_int;
}

void work_and_count(int /*signal*/) {
    targets::consume(work(5));
    g_met = g_met + 1;
}

/// Until `count` handlers have run.
void await(int wanted) {
    while (g_met < wanted) {
        targets::consume(work(3, 20));
    }
}

/// One of the ways to send a signal to this very thread: it arrives before the call returns.
void send(int signal, std::uint64_t way) {
    switch (way % 4) {
        case 0:
            raise(signal);
            break;
        case 1:
            pthread_kill(pthread_self(), signal);
            break;
        case 2:
            syscall(SYS_tgkill, getpid(), gettid(), signal);
            break;
        default:
            sigval value{};
            value.sival_int = 7;
            pthread_sigqueue(pthread_self(), signal, value);
            break;
    }
}

std::uint64_t handlers(std::uint64_t seed) {
    Dice dice{seed};
    const int signal = dice.one_of(kHandled);
    constexpr int kFlags[] = {0, SA_RESTART, SA_NODEFER, SA_ONSTACK, SA_RESTART | SA_ONSTACK};
    const Handler handler{signal, work_and_count, dice.one_of(kFlags)};
    g_met = 0;
    const int times = 1 + static_cast<int>(dice.below(20));
    for (int time = 0; time < times; ++time) {
        targets::consume(work(seed, 50));
        send(signal, dice.next());
        require(g_met == time + 1, "a signal of its own was lost, or came twice");
    }
    return static_cast<std::uint64_t>(signal) * 100 + static_cast<std::uint64_t>(times);
}

std::uint64_t handled_once(std::uint64_t seed) {
    const int signal = Dice{seed}.one_of(kHandled);
    const Handler handler{signal, count, static_cast<int>(SA_RESETHAND)};
    g_met = 0;
    send(signal, seed);
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    require(g_met == 1 && now.sa_handler == SIG_DFL, "SA_RESETHAND");
    return static_cast<std::uint64_t>(signal);
}

/// The mask reads back as it was set, what is blocked stays pending, and queued signals keep their
/// order.
std::uint64_t masks(std::uint64_t seed) {
    Dice dice{seed};
    const int signal = dice.one_of(kHandled);
    const Handler standard{signal, count};
    const Handler queued{SIGRTMIN + 1, count_value};
    g_met = 0;
    g_value = 0;
    {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (int each = 1; each < NSIG; ++each) {
            if (each == signal || each == SIGRTMIN + 1 || dice.below(2) == 0) {
                sigaddset(&wanted, each);
            }
        }
        const Mask mask{SIG_SETMASK, wanted};
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        for (int each = 1; each < NSIG; ++each) {
            require(sigismember(&now, each) == 1
                        ? sigismember(&wanted, each) == 1
                        : sigismember(&wanted, each) != 1 || each == SIGKILL || each == SIGSTOP ||
                              each == 32 || each == 33,
                    "another mask than was set");
        }
        send(signal, dice.next());
        send(signal, dice.next());
        for (int value = 1; value < 5; ++value) {
            sigval with{};
            with.sival_int = value;
            sigqueue(getpid(), SIGRTMIN + 1, with);
        }
        targets::consume(work(seed));
        sigpending(&now);
        require(g_met == 0 && sigismember(&now, signal) == 1, "it is not pending");
    }
    await(5);
    require(g_met == 5 && g_value == 1234, "pending signals");
    return static_cast<std::uint64_t>(signal);
}

/// The mask by the system call itself, past libc's functions; the kernel's is of 8 bytes.
std::uint64_t masks_by_number(std::uint64_t seed) {
    const int signal = Dice{seed}.one_of(kHandled);
    const Handler handler{signal, count};
    g_met = 0;
    std::uint64_t all = ~std::uint64_t{0};
    std::uint64_t before = 0;
    std::uint64_t now = 0;
    require(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8) == 0, "rt_sigprocmask");
    targets::consume(work(seed, 1000));
    kill(getpid(), signal);
    targets::consume(work(seed, 1000));
    require(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, &now, 8) == 0, "rt_sigprocmask");
    await(1);
    const std::uint64_t never = 1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1);
    errno = 0;
    require(now == (all & ~never), "another mask than was set by number");
    return static_cast<std::uint64_t>(signal);
}

/// What sigaction says by its number is what it says by its name.
std::uint64_t handlers_by_number(std::uint64_t seed) {
    struct KernelAction {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)();
        std::uint64_t mask;
    };
    const int signal = Dice{seed}.one_of(kHandled);
    g_met = 0;
    const Handler handler{signal, count, SA_RESTART};
    KernelAction by_number{};
    require(syscall(SYS_rt_sigaction, signal, nullptr, &by_number, 8) == 0, "rt_sigaction");
    errno = 0;
    require(by_number.handler == count, "another handler by number");
    // What was read may be written.
    require(syscall(SYS_rt_sigaction, signal, &by_number, nullptr, 8) == 0, "rt_sigaction");
    targets::consume(work(seed));
    send(signal, seed);
    require(g_met == 1, "the handler set by number");
    return static_cast<std::uint64_t>(signal);
}

std::uint64_t waits(std::uint64_t seed) {
    Dice dice{seed};
    const int signal = seed % 3 == 0 ? SIGRTMIN + 3 : dice.one_of(kHandled);
    const sigset_t set = set_of(signal);
    const Mask mask{SIG_BLOCK, set};
    const timespec soon{0, 0};
    siginfo_t info{};
    require(sigtimedwait(&set, &info, &soon) < 0 && errno == EAGAIN, "nothing is pending");
    for (int time = 0; time < 5; ++time) {
        targets::consume(work(seed, 100));
        send(signal, dice.next());
        int got = 0;
        switch (dice.below(3)) {
            case 0:
                sigwait(&set, &got);
                break;
            case 1:
                got = sigwaitinfo(&set, &info);
                break;
            default:
                got = sigtimedwait(&set, nullptr, nullptr);
                break;
        }
        require(got == signal, "sigwait");
    }
    return static_cast<std::uint64_t>(signal);
}

/// SIGTRAP and SIGURG are left out: docs/sources.md says who takes one of them.
std::uint64_t signal_descriptor(std::uint64_t seed) {
    const int signals[] = {SIGUSR1, SIGCHLD, SIGRTMIN + 2, SIGALRM};
    const int signal = Dice{seed}.one_of(signals);
    const sigset_t set = set_of(signal);
    const Mask mask{SIG_BLOCK, set};
    const int fd = signalfd(-1, &set, SFD_CLOEXEC);
    require(fd >= 0, "signalfd");
    for (int time = 0; time < 5; ++time) {
        targets::consume(work(seed, 100));
        send(signal, seed);
        signalfd_siginfo info{};
        require(read(fd, &info, sizeof info) == sizeof info &&
                    static_cast<int>(info.ssi_signo) == signal,
                "what the descriptor gives");
    }
    close(fd);
    return static_cast<std::uint64_t>(signal);
}

/// sigsuspend lets in what a thread sends, as often as it is sent.
std::uint64_t suspended(std::uint64_t seed) {
    const Handler handler{SIGUSR1, count};
    const Mask mask{SIG_BLOCK, set_of(SIGUSR1)};
    g_met = 0;
    sigset_t none;
    sigemptyset(&none);
    for (int time = 0; time < 5; ++time) {
        kill(getpid(), SIGUSR1);
        targets::consume(work(seed, 100));
        while (g_met <= time) {
            require(sigsuspend(&none) < 0 && errno == EINTR, "sigsuspend");
        }
    }
    require(g_met == 5, "sigsuspend");
    return seed % 101;
}

std::uint64_t interval_timers(std::uint64_t seed) {
    const int which[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
    const Handler handler{signals[seed % 3], count, SA_RESTART};
    g_met = 0;
    const itimerval each{{0, 2000}, {0, 2000}};
    require(setitimer(which[seed % 3], &each, nullptr) == 0, "setitimer");
    await(3);
    const itimerval none{};
    setitimer(which[seed % 3], &none, nullptr);
    return seed % 3;
}

std::atomic<int> g_notified{0};

void notify(sigval value) {
    g_notified += value.sival_int;
}

void run_timer(std::uint64_t seed) {
    const Handler handler{SIGRTMIN + 4, count};
    g_met = 0;
    g_notified = 0;
    sigevent event{};
    const bool by_thread = seed % 2 == 0;
    event.sigev_notify = by_thread ? SIGEV_THREAD : SIGEV_SIGNAL;
    event.sigev_value.sival_int = 1;
    if (by_thread) {
        event.sigev_notify_function = notify;
    } else {
        event.sigev_signo = SIGRTMIN + 4;
    }
    timer_t timer{};
    constexpr clockid_t kClocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID};
    require(timer_create(kClocks[seed % 3], &event, &timer) == 0, "timer_create");
    const itimerspec each{{0, 2'000'000}, {0, 2'000'000}};
    require(timer_settime(timer, 0, &each, nullptr) == 0, "timer_settime");
    while (by_thread ? g_notified < 3 : g_met < 3) {
        targets::consume(work(3, 20));
    }
    timer_delete(timer);
}

/// In a child: libc keeps a thread for those that notify by one.
std::uint64_t posix_timers(std::uint64_t seed) {
    in_child(seed, [&] { run_timer(seed); });
    return seed % 6;
}

std::uint64_t timer_descriptor(std::uint64_t seed) {
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const itimerspec each{{0, 1'000'000}, {0, 1'000'000}};
    require(fd >= 0 && timerfd_settime(fd, 0, &each, nullptr) == 0, "timerfd");
    for (int time = 0; time < 3; ++time) {
        std::uint64_t expirations = 0;
        while (read(fd, &expirations, sizeof expirations) < 0) {
            require(errno == EINTR, "read");
        }
        require(expirations >= 1, "expirations");
        targets::consume(work(seed));
    }
    close(fd);
    return seed % 103;
}

std::uint64_t broken_pipe(std::uint64_t seed) {
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    close(ends[0]);
    {
        const Handler handler{SIGPIPE, count};
        g_met = 0;
        require(write(ends[1], "x", 1) < 0 && errno == EPIPE && g_met == 1, "SIGPIPE");
        targets::consume(work(seed));
    }
    const Handler ignored{SIGPIPE, SIG_IGN};
    require(write(ends[1], "x", 1) < 0 && errno == EPIPE && g_met == 1, "SIGPIPE, ignored");
    close(ends[1]);
    return seed % 137;
}

void reap(int /*signal*/) {
    const int error = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
        g_met = g_met + 1;
    }
    errno = error;
}

/// Children that are reaped in the handler. In a child, which has no others.
std::uint64_t reaping_handler(std::uint64_t seed) {
    in_child(seed, [&] {
        struct sigaction action {};
        action.sa_handler = reap;
        action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
        g_met = 0;
        sigaction(SIGCHLD, &action, nullptr);
        for (int number = 0; number < 4; ++number) {
            (void)start_child(seed, [&] { targets::consume(work(seed)); });
            targets::consume(work(seed));
        }
        await(4);
    });
    return seed % 139;
}

/// The handler of one signal raises another one, five deep.
void raise_next(int signal) {
    g_met = g_met + 1;
    if (signal < SIGRTMIN + 10) {
        sigset_t all;
        sigemptyset(&all);
        const Mask mask{SIG_SETMASK, all};
        targets::consume(work(11, 50));
        raise(signal + 1);
    }
}

std::uint64_t nested_handlers(std::uint64_t seed) {
    g_met = 0;
    const Handler one{SIGRTMIN + 6, raise_next};
    const Handler two{SIGRTMIN + 7, raise_next};
    const Handler three{SIGRTMIN + 8, raise_next};
    const Handler four{SIGRTMIN + 9, raise_next};
    const Handler five{SIGRTMIN + 10, raise_next};
    raise(SIGRTMIN + 6);
    require(g_met == 5, "nested handlers");
    return work(seed);
}

/// Signals for a thread, whose mask is its maker's.
std::uint64_t signals_of_threads(std::uint64_t seed) {
    const Handler handler{SIGUSR2, work_and_count};
    const Mask mask{SIG_BLOCK, set_of(SIGUSR2)};
    g_met = 0;
    pthread_t thread{};
    std::atomic<int> wanted{0};
    const auto body = [](void* argument) -> void* {
        auto& told = *static_cast<std::atomic<int>*>(argument);
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        require(sigismember(&now, SIGUSR2) == 1, "a thread's first mask");
        const sigset_t set = set_of(SIGUSR2);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        told = 1;
        await(5);
        return nullptr;
    };
    require(pthread_create(&thread, nullptr, body, &wanted) == 0, "pthread_create");
    for (int time = 0; time < 5; ++time) {
        while (wanted == 0 || g_met < time) {
            targets::consume(work(3, 10));
        }
        pthread_kill(thread, SIGUSR2);
    }
    pthread_join(thread, nullptr);
    require(g_met == 5, "a thread's signals");
    return work(seed);
}

/// All of a process's signals are ignored, and its child's are not.
std::uint64_t all_ignored(std::uint64_t seed) {
    in_child(seed, [&] {
        for (int signal = 1; signal < NSIG; ++signal) {
            std::signal(signal, SIG_IGN);
        }
        for (const int signal : kHandled) {
            targets::consume(work(seed, 100));
            send(signal, seed);
        }
        for (int signal = 1; signal < NSIG; ++signal) {
            struct sigaction now {};
            require(sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN ||
                        signal == SIGKILL || signal == SIGSTOP,
                    "not ignored");
            std::signal(signal, SIG_DFL);
        }
    });
    return seed % 149;
}

constexpr Operation kOperations[] = {
    {"handlers", handlers, kAlone},
    {"handled_once", handled_once, kAlone},
    {"masks", masks, kAlone},
    {"masks_by_number", masks_by_number, kAlone},
    {"handlers_by_number", handlers_by_number, kAlone},
    {"waits", waits, kAnywhere},
    {"signal_descriptor", signal_descriptor, kAnywhere},
    {"suspended", suspended, kAlone},
    {"interval_timers", interval_timers, kAlone},
    {"posix_timers", posix_timers, kAlone},
    {"timer_descriptor", timer_descriptor, kAnywhere},
    {"broken_pipe", broken_pipe, kAlone},
    {"reaping_handler", reaping_handler, kAlone},
    {"nested_handlers", nested_handlers, kAlone},
    {"signals_of_threads", signals_of_threads, kAlone},
    {"all_ignored", all_ignored, kAlone},
};

}  // namespace

Operations signal_operations() {
    return kOperations;
}

}  // namespace storm

// A program that uses SIGTRAP for itself, in one of the ways programs do; or SIGURG.
//
//     sigtrap_user MODE [trap|urg]
//
// For SIGTRAP read SIGURG with `urg`, whose default action is nothing:
//
// handler:      its own SIGTRAP handler meets exactly the five raises it makes, and no others.
// info:         the same with SA_SIGINFO: it sees its own si_code and pid.
// blocked:      SIGTRAP is blocked; it stays blocked, and none is pending after work.
// sigwait:      a blocked SIGTRAP sent by itself is what sigwait gives, once.
// sigtimedwait: while it works with SIGTRAP blocked, sigtimedwait finds none (EAGAIN).
// signalfd:     the same through a signalfd.
// ignored:      SIG_IGN: raise does nothing, and the old action reads back as ignored.
// asked:        sigaction's and signal's old values are what the program itself set.
// ppoll:        ppoll with SIGTRAP blocked times out after work, and the mask is back after it.
// raise:        the default action: death by SIGTRAP, after the line before it.
//
// Stats: what it prints, and how it ends, is the same under a profiler and without one.
#include "work.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace {

constexpr std::uint64_t kWorkNs = 60'000'000;

int own_number = SIGTRAP;

volatile std::sig_atomic_t met = 0;
volatile std::sig_atomic_t own = 0;

void count_trap(int /*signal*/) {
    met = met + 1;
}

void count_own_trap(int /*signal*/, siginfo_t* info, void* /*context*/) {
    met = met + 1;
    own = own + (info->si_pid == getpid() && info->si_code == SI_TKILL ? 1 : 0);
}

sigset_t only_trap() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, own_number);
    return set;
}

bool trap_is_blocked() {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, own_number) == 1;
}

bool trap_is_pending() {
    sigset_t now;
    sigpending(&now);
    return sigismember(&now, own_number) == 1;
}

void block_trap() {
    const sigset_t set = only_trap();
    sigprocmask(SIG_BLOCK, &set, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

void raise_five() {
    for (int time = 0; time < 5; ++time) {
        targets::burn(kWorkNs / 5);
        raise(own_number);
    }
}

void handler() {
    struct sigaction action {};
    action.sa_handler = count_trap;
    sigaction(own_number, &action, nullptr);
    raise_five();
    std::printf("met %d\n", static_cast<int>(met));
}

void info() {
    struct sigaction action {};
    action.sa_sigaction = count_own_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(own_number, &action, nullptr);
    raise_five();
    std::printf("met %d own %d\n", static_cast<int>(met), static_cast<int>(own));
}

void blocked() {
    block_trap();
    targets::burn(kWorkNs);
    std::printf("blocked %d pending %d\n", trap_is_blocked(), trap_is_pending());
}

void sigwait_mode() {
    block_trap();
    targets::burn(kWorkNs);
    raise(own_number);
    const sigset_t set = only_trap();
    int signal = 0;
    sigwait(&set, &signal);
    std::printf("sigwait gave %d pending %d\n", signal, trap_is_pending());
}

void sigtimedwait_mode() {
    block_trap();
    const sigset_t set = only_trap();
    int found = 0;
    for (int time = 0; time < 10; ++time) {
        targets::burn(kWorkNs / 10);
        const timespec no_time{};
        found += sigtimedwait(&set, nullptr, &no_time) == own_number ? 1 : 0;
    }
    std::printf("sigtimedwait found %d\n", found);
}

void signalfd_mode() {
    block_trap();
    const sigset_t set = only_trap();
    const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    targets::burn(kWorkNs);
    signalfd_siginfo info{};
    const bool before = read(fd, &info, sizeof info) > 0;
    raise(own_number);
    const bool after = read(fd, &info, sizeof info) > 0;
    std::printf("signalfd before %d after %d signal %u\n", before, after, info.ssi_signo);
}

void ignored() {
    std::signal(own_number, SIG_IGN);
    raise_five();
    struct sigaction action {};
    sigaction(own_number, nullptr, &action);
    std::printf("still ignored %d\n", action.sa_handler == SIG_IGN);
}

void asked() {
    struct sigaction first {};
    struct sigaction mine {};
    struct sigaction second {};
    mine.sa_handler = count_trap;
    mine.sa_flags = SA_RESTART;
    sigaddset(&mine.sa_mask, SIGUSR1);
    sigaction(own_number, &mine, &first);
    targets::burn(kWorkNs);
    sigaction(own_number, nullptr, &second);
    std::printf("first default %d second mine %d flags %d mask %d", first.sa_handler == SIG_DFL,
                second.sa_handler == count_trap, (second.sa_flags & SA_RESTART) != 0,
                sigismember(&second.sa_mask, SIGUSR1));
    std::printf(" signal %d\n", std::signal(own_number, SIG_DFL) == count_trap);
}

void ppoll_mode() {
    sigset_t everything;
    sigfillset(&everything);
    pollfd nothing{-1, 0, 0};
    int interrupted = 0;
    for (int time = 0; time < 20; ++time) {
        targets::burn(kWorkNs / 20);
        const timespec one_ms{0, 1'000'000};
        interrupted += ppoll(&nothing, 1, &one_ms, &everything) == -1 ? 1 : 0;
    }
    std::printf("ppoll interrupted %d blocked %d\n", interrupted, trap_is_blocked());
}

void raise_mode() {
    targets::burn(kWorkNs);
    std::printf("before the raise\n");
    std::fflush(stdout);
    raise(own_number);
    std::printf("after the raise\n");
}

struct Mode {
    const char* name;
    void (*run)();
};

constexpr Mode kModes[] = {
    {"handler", handler},        {"info", info},       {"blocked", blocked},
    {"sigwait", sigwait_mode},   {"ignored", ignored}, {"sigtimedwait", sigtimedwait_mode},
    {"signalfd", signalfd_mode}, {"asked", asked},     {"ppoll", ppoll_mode},
    {"raise", raise_mode},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[2], "urg") == 0) {
        own_number = SIGURG;
    }
    for (const Mode& mode : kModes) {
        if (argc >= 2 && std::strcmp(argv[1], mode.name) == 0) {
            mode.run();
            return 0;
        }
    }
    return targets::usage(
        "handler|info|blocked|sigwait|sigtimedwait|signalfd|ignored|asked|ppoll|"
        "raise");
}

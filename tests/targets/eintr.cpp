// Blocking calls that are never restarted after a signal: a profiler's signal shows as EINTR.
//
//     eintr N
//
// Stats: N times each of epoll_wait, poll, nanosleep, recv with SO_RCVTIMEO and sem_timedwait, and,
// by libc's syscall(), of ppoll, pselect6, epoll_pwait and rt_sigtimedwait (`_by_number`), each of
// which blocks for some 2 ms, with 100 to 400 µs of work before it, at random: no sampling
// period falls into step with the calls. It works for 50 ms before them all, which each source
// sees. `calls=` of each kind, and how many ended with EINTR, by kind. It has a handler that means
// to end calls, but nobody sends it that signal: bare, each count of EINTR is 0. Source: signal(7),
// "Interruption of system calls".
#include "work.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace {

constexpr long kBlockNs = 2'000'000;
constexpr long kSetBytes = 8;

struct Waits {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    std::array<int, 2> pair{-1, -1};
    sem_t semaphore{};

    Waits() {
        const timeval limit{0, kBlockNs / 1000};
        if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ||
            setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
            sem_init(&semaphore, 0, 0) != 0) {
            std::perror("eintr");
            std::exit(1);
        }
    }
};

bool in_epoll_wait(Waits& waits) {
    epoll_event event{};
    return epoll_wait(waits.epoll, &event, 1, kBlockNs / 1'000'000) == -1 && errno == EINTR;
}

bool in_poll(Waits& /*unused*/) {
    pollfd nothing{-1, 0, 0};
    return poll(&nothing, 1, kBlockNs / 1'000'000) == -1 && errno == EINTR;
}

bool in_nanosleep(Waits& /*unused*/) {
    const timespec pause{0, kBlockNs};
    return nanosleep(&pause, nullptr) == -1 && errno == EINTR;
}

bool in_recv(Waits& waits) {
    char byte = 0;
    return recv(waits.pair[0], &byte, 1, 0) == -1 && errno == EINTR;
}

bool in_sem_timedwait(Waits& waits) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kBlockNs;
    if (until.tv_nsec >= 1'000'000'000) {
        until.tv_nsec -= 1'000'000'000;
        ++until.tv_sec;
    }
    return sem_timedwait(&waits.semaphore, &until) == -1 && errno == EINTR;
}

bool in_ppoll_by_number(Waits& /*unused*/) {
    pollfd nothing{-1, 0, 0};
    timespec pause{0, kBlockNs};
    return syscall(SYS_ppoll, &nothing, 1, &pause, nullptr, kSetBytes) == -1 && errno == EINTR;
}

bool in_pselect_by_number(Waits& /*unused*/) {
    timespec pause{0, kBlockNs};
    sigset_t none{};
    const struct {
        const sigset_t* set;
        long bytes;
    } mask{&none, kSetBytes};
    return syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &pause, &mask) == -1 &&
           errno == EINTR;
}

bool in_epoll_pwait_by_number(Waits& waits) {
    epoll_event event{};
    sigset_t none{};
    return syscall(SYS_epoll_pwait, waits.epoll, &event, 1, kBlockNs / 1'000'000, &none,
                   kSetBytes) == -1 &&
           errno == EINTR;
}

bool in_sigtimedwait_by_number(Waits& /*unused*/) {
    const timespec pause{0, kBlockNs};
    sigset_t user{};
    sigaddset(&user, SIGUSR2);
    return syscall(SYS_rt_sigtimedwait, &user, nullptr, &pause, kSetBytes) == -1 && errno == EINTR;
}

struct Kind {
    const char* key;
    bool (*interrupted)(Waits&);
    std::uint64_t count = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("N");
    }
    std::array<Kind, 9> kinds{{{"eintr_epoll_wait", in_epoll_wait},
                               {"eintr_poll", in_poll},
                               {"eintr_nanosleep", in_nanosleep},
                               {"eintr_recv", in_recv},
                               {"eintr_sem_timedwait", in_sem_timedwait},
                               {"eintr_ppoll_by_number", in_ppoll_by_number},
                               {"eintr_pselect_by_number", in_pselect_by_number},
                               {"eintr_epoll_pwait_by_number", in_epoll_pwait_by_number},
                               {"eintr_sigtimedwait_by_number", in_sigtimedwait_by_number}}};
    Waits waits;
    struct sigaction action {};
    action.sa_handler = [](int /*signal*/) {};
    sigaction(SIGUSR1, &action, nullptr);
    const unsigned long calls = targets::number(argv[1]);
    std::uint64_t state = 88172645463325252U;
    targets::burn(50'000'000);
    for (unsigned long time = 0; time < calls; ++time) {
        for (Kind& kind : kinds) {
            state = targets::work_unit(state);
            targets::burn(100'000 + (state >> 33U) % 300'000);
            kind.count += kind.interrupted(waits) ? 1 : 0;
        }
    }
    targets::tell("calls", calls);
    for (const Kind& kind : kinds) {
        targets::tell(kind.key, kind.count);
    }
}

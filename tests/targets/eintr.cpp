// Blocking calls that are never restarted after a signal: a profiler's signal shows as EINTR.
//
//     eintr N
//
// Truth: N times each of epoll_wait, nanosleep and poll of 2 ms, with a little work before each.
// Nobody sends this program a signal, so each count of EINTR is 0.
#include "work.h"

#include <poll.h>
#include <sys/epoll.h>

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("N");
    }
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    std::uint64_t in_epoll = 0;
    std::uint64_t in_sleep = 0;
    std::uint64_t in_poll = 0;
    for (unsigned long time = 0; time < targets::number(argv[1]); ++time) {
        epoll_event event{};
        pollfd nothing{-1, 0, 0};
        const timespec pause{0, 2'000'000};
        targets::burn(250'000);
        in_epoll += epoll_wait(epoll, &event, 1, 2) == -1 && errno == EINTR ? 1 : 0;
        targets::burn(250'000);
        in_sleep += nanosleep(&pause, nullptr) == -1 && errno == EINTR ? 1 : 0;
        targets::burn(250'000);
        in_poll += poll(&nothing, 1, 2) == -1 && errno == EINTR ? 1 : 0;
    }
    targets::tell("eintr_epoll_wait", in_epoll);
    targets::tell("eintr_nanosleep", in_sleep);
    targets::tell("eintr_poll", in_poll);
}

// A process that stops itself, and when it is continued has threads that sleep and work over and
// over.
//
//     naps ROUNDS
//
// Stats: the thread "napper" sleeps so often in naps_by_clock(), the thread "waiter" in
// naps_until_woken(), each time until the thread "waker" wakes it. `clock_ns=`, `woken_ns=` are
// what that took by the wall clock, `clock_cpu_ns=`, `woken_cpu_ns=` by the thread's own. Meanwhile
// two threads "rival" share one processor in works_beside(); `beside_cpu_ns=` is the CPU time of
// both. The thread "sleeper" sleeps in naps_to_the_end() until the process ends. The main thread
// waits for the others.
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

namespace {

struct Spent {
    std::uint64_t wall_ns = 0;
    std::uint64_t cpu_ns = 0;
};

std::array<int, 2> g_pipe{};
std::atomic<bool> g_is_over{false};
std::atomic<std::uint64_t> g_beside_ns{0};

void pause_ms(long ms) {
    const timespec pause{0, ms * 1'000'000};
    targets::consume(static_cast<std::uint64_t>(nanosleep(&pause, nullptr)));
}

/// What so many calls of `nap` take this thread.
template <class Nap>
Spent spend(std::uint64_t rounds, Nap nap) {
    Spent spent;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        targets::burn(200'000);
        const Spent before{targets::wall_ns(), targets::thread_cpu_ns()};
        nap();
        spent.cpu_ns += targets::thread_cpu_ns() - before.cpu_ns;
        spent.wall_ns += targets::wall_ns() - before.wall_ns;
    }
    return spent;
}

}  // namespace

TARGET_KEEP void naps_by_clock() {
    pause_ms(5);
}

TARGET_KEEP void naps_until_woken() {
    char byte = 0;
    targets::consume(static_cast<std::uint64_t>(read(g_pipe[0], &byte, 1)));
}

TARGET_KEEP void naps_to_the_end() {
    targets::consume(static_cast<std::uint64_t>(pause()));
}

TARGET_KEEP void works_beside() {
    while (!g_is_over) {
        targets::burn(1'000'000);
    }
}

static void be_rival(int cpu) {
    pthread_setname_np(pthread_self(), "rival");
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    sched_setaffinity(0, sizeof one, &one);
    const std::uint64_t before = targets::thread_cpu_ns();
    works_beside();
    g_beside_ns += targets::thread_cpu_ns() - before;
}

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("ROUNDS");
    }
    const std::uint64_t rounds = targets::number(argv[1]);
    raise(SIGSTOP);
    if (pipe2(g_pipe.data(), O_CLOEXEC) != 0) {
        return 1;
    }
    std::thread{[] {
        pthread_setname_np(pthread_self(), "sleeper");
        naps_to_the_end();
    }}.detach();
    const int cpu = sched_getcpu();
    std::thread rival{be_rival, cpu};
    std::thread other_rival{be_rival, cpu};
    Spent by_clock;
    Spent until_woken;
    std::thread napper{[&] {
        pthread_setname_np(pthread_self(), "napper");
        by_clock = spend(rounds, naps_by_clock);
    }};
    std::thread waiter{[&] {
        pthread_setname_np(pthread_self(), "waiter");
        until_woken = spend(rounds, naps_until_woken);
    }};
    std::thread waker{[&] {
        pthread_setname_np(pthread_self(), "waker");
        for (std::uint64_t round = 0; round < rounds; ++round) {
            pause_ms(3);
            targets::consume(static_cast<std::uint64_t>(write(g_pipe[1], "", 1)));
        }
    }};
    napper.join();
    waiter.join();
    waker.join();
    g_is_over = true;
    rival.join();
    other_rival.join();
    targets::tell("clock_ns", by_clock.wall_ns);
    targets::tell("clock_cpu_ns", by_clock.cpu_ns);
    targets::tell("woken_ns", until_woken.wall_ns);
    targets::tell("woken_cpu_ns", until_woken.cpu_ns);
    targets::tell("beside_cpu_ns", g_beside_ns.load());
    return 0;
}

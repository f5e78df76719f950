// A process that its first thread leaves by pthread_exit: /proc/PID then tells nothing of its
// memory.
//
//     first_leaves SECONDS [works]
//
// Stats: `first_ns=` is how long the first thread was there, at most; after it, the thread `stays`
// waits in waits_alone() about so long, or works in burn(), and `alone_ns=` is how long, by the
// wall clock.
#include "work.h"

#include <pthread.h>
#include <unistd.h>

#include <thread>

TARGET_KEEP void waits_alone(std::uint64_t ns) {
    const timespec pause{static_cast<time_t>(ns / 1'000'000'000U),
                         static_cast<long>(ns % 1'000'000'000U)};
    targets::consume(static_cast<std::uint64_t>(nanosleep(&pause, nullptr)));
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        return targets::usage("SECONDS [works]");
    }
    const std::uint64_t start = targets::wall_ns();
    std::thread{[start, works = argc == 3, ns = targets::seconds_to_ns(argv[1])] {
        pthread_setname_np(pthread_self(), "stays");
        targets::await_first_threads_end();
        const std::uint64_t alone = targets::wall_ns();
        works ? targets::burn(ns) : waits_alone(ns);
        targets::tell("first_ns", alone - start);
        targets::tell("alone_ns", targets::wall_ns() - alone);
    }}.detach();
    pthread_exit(nullptr);
}

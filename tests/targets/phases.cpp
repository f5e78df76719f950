// Three phases, each a function of its own that works until so many milliseconds after the start.
//
//     phases FIRST_MS SECOND_MS THIRD_MS [FILE]
//
// FILE: they wait for it to be there, and count from then on. The main thread, a second one that is
// there from the start, and a forked child go through the first two phases. Then the second thread
// ends, and a new one and the child, which execs itself for it and counts its own CPU time, go
// through the third, while the main thread sleeps.
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

TARGET_KEEP void first_phase(std::uint64_t end_ns) {
    std::uint64_t state = 1;
    while (targets::wall_ns() < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

TARGET_KEEP void second_phase(std::uint64_t end_ns) {
    std::uint64_t state = 2;
    while (targets::wall_ns() < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

TARGET_KEEP void third_phase(clockid_t clock, std::uint64_t end_ns) {
    std::uint64_t state = 3;
    while (targets::clock_ns(clock) < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

/// Returns when the file was there.
std::uint64_t await(const char* file) {
    while (access(file, F_OK) != 0) {
        usleep(1000);
    }
    return targets::wall_ns();
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::uint64_t kMs = 1'000'000;
    if (argc == 2) {
        third_phase(CLOCK_THREAD_CPUTIME_ID,
                    targets::thread_cpu_ns() + targets::number(argv[1]) * kMs);
        return 0;
    }
    if (argc != 4 && argc != 5) {
        return targets::usage("FIRST_MS SECOND_MS THIRD_MS [FILE]");
    }
    const std::uint64_t start = targets::wall_ns();
    const auto end_of = [argv](int phase) { return targets::number(argv[phase]) * kMs; };
    // Returns when it began.
    const auto work = [&] {
        const std::uint64_t begin = argc == 5 ? await(argv[4]) : start;
        first_phase(begin + end_of(1));
        second_phase(begin + end_of(2));
        return begin;
    };
    const pid_t child = fork();
    if (child == 0) {
        work();
        const std::string rest = std::to_string((end_of(3) - end_of(2)) / kMs);
        execl("/proc/self/exe", argv[0], rest.c_str(), nullptr);
        return 1;
    }
    std::thread early{work};
    const std::uint64_t begin = work();
    early.join();
    std::thread late{[&] { third_phase(CLOCK_MONOTONIC, begin + end_of(3)); }};
    late.join();
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

// Waits in two functions and works in a third one by turns, until it has been stopped for a while.
//
//     stopped MS
//
// Stats: it is stopped for MS milliseconds by a child, 300 ms after the start, and goes on for
// 300 ms. `waits_first_ns=`, `waits_second_ns=` and `works_ns=`: what each took by CLOCK_MONOTONIC,
// the stop included.
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

constexpr std::uint64_t kMs = 1'000'000;

TARGET_KEEP std::uint64_t waits_first() {
    const std::uint64_t start = targets::wall_ns();
    targets::sleep_until(start + 30 * kMs);
    return targets::wall_ns() - start;
}

TARGET_KEEP std::uint64_t waits_second() {
    const std::uint64_t start = targets::wall_ns();
    targets::sleep_until(start + 20 * kMs);
    return targets::wall_ns() - start;
}

TARGET_KEEP std::uint64_t works() {
    const std::uint64_t start = targets::wall_ns();
    targets::burn(10 * kMs);
    return targets::wall_ns() - start;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("MS");
    }
    const std::uint64_t stop_ns = targets::number(argv[1]) * kMs;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        targets::sleep_until(targets::wall_ns() + 300 * kMs);
        kill(parent, SIGSTOP);
        targets::sleep_until(targets::wall_ns() + stop_ns);
        kill(parent, SIGCONT);
        _exit(0);
    }
    std::uint64_t first_ns = 0;
    std::uint64_t second_ns = 0;
    std::uint64_t work_ns = 0;
    std::uint64_t end = 0;
    for (bool goes_on = true; goes_on; goes_on = end == 0 || targets::wall_ns() < end) {
        first_ns += waits_first();
        second_ns += waits_second();
        work_ns += works();
        if (end == 0 && waitpid(child, nullptr, WNOHANG) == child) {
            end = targets::wall_ns() + 300 * kMs;
        }
    }
    targets::tell("waits_first_ns", first_ns);
    targets::tell("waits_second_ns", second_ns);
    targets::tell("works_ns", work_ns);
}

// Three phases, each a function of its own that works until so many milliseconds after the start.
//
//     phases FIRST_MS SECOND_MS THIRD_MS
//
// The main thread, a second one that is there from the start, and a forked child go through the
// first two phases. Then the second thread ends, and a new one and the child, which execs itself
// for it, go through the third, while the main thread sleeps.
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

TARGET_KEEP void third_phase(std::uint64_t end_ns) {
    std::uint64_t state = 3;
    while (targets::wall_ns() < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::uint64_t kMs = 1'000'000;
    const std::uint64_t start = targets::wall_ns();
    if (argc == 2) {
        third_phase(start + targets::number(argv[1]) * kMs);
        return 0;
    }
    if (argc != 4) {
        return targets::usage("FIRST_MS SECOND_MS THIRD_MS");
    }
    const std::uint64_t first_end = start + targets::number(argv[1]) * kMs;
    const std::uint64_t second_end = start + targets::number(argv[2]) * kMs;
    const std::uint64_t third_end = start + targets::number(argv[3]) * kMs;
    const auto work = [&] {
        first_phase(first_end);
        second_phase(second_end);
    };
    const pid_t child = fork();
    if (child == 0) {
        work();
        const std::string rest = std::to_string((third_end - second_end) / kMs);
        execl("/proc/self/exe", argv[0], rest.c_str(), nullptr);
        return 1;
    }
    std::thread early{work};
    work();
    early.join();
    std::thread late{[&] { third_phase(third_end); }};
    late.join();
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

// Two that hand a byte to and fro over pipes: the processor is left twice a round.
//
//     switches processes|threads|apart|working SECONDS
//
// MODE: two processes, or two threads, on one processor; two processes on one each; `working` as
// `processes`, and the first one works between two rounds, 50, 30 and 20 per cent of it in three
// functions. There SECONDS are of its CPU time, and after a third of them it only works; of threads
// they are of the CPU time of both.
//
// Stats: rounds=, round_ns= (of the wall's time, while there were rounds), interrupted= (calls that
// ended with EINTR).
#include "work.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

struct Pipe {
    int ends[2] = {};
    Pipe() {
        if (pipe2(ends, O_CLOEXEC) != 0) {
            std::abort();
        }
    }
};

constexpr std::uint64_t kRoundsBetweenLooks = 64;  // at the clock: some are dear

std::uint64_t g_interrupted = 0;

std::uint64_t process_cpu_ns() {
    return targets::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void run_on(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/// False: nobody is there any more.
bool take(const Pipe& from) {
    char byte = 0;
    ssize_t got = 0;
    while ((got = read(from.ends[0], &byte, 1)) < 0 && errno == EINTR) {
        ++g_interrupted;
    }
    return got == 1 && byte == 'x';
}

void give(const Pipe& to, char byte) {
    while (write(to.ends[1], &byte, 1) < 0 && errno == EINTR) {
        ++g_interrupted;
    }
}

void answer(const Pipe& from, const Pipe& to, int processor) {
    run_on(processor);
    while (take(from)) {
        give(to, 'x');
    }
}

[[gnu::always_inline]] inline std::uint64_t kernel(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

}  // namespace

TARGET_KEEP std::uint64_t leaf_fifty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 50U, units);
}
TARGET_KEEP std::uint64_t leaf_thirty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 30U, units);
}
TARGET_KEEP std::uint64_t leaf_twenty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 20U, units);
}

TARGET_KEEP std::uint64_t work(std::uint64_t state) {
    const auto n = static_cast<unsigned>(1 + (state >> 40U) % 8);
    state = leaf_fifty(state, 5 * n);
    state = leaf_thirty(state, 3 * n);
    return leaf_twenty(state, 2 * n);
}

int main(int argc, char** argv) {
    const std::string mode = argc == 3 ? argv[1] : "";
    if (mode != "processes" && mode != "threads" && mode != "apart" && mode != "working") {
        return targets::usage("processes|threads|apart|working SECONDS");
    }
    const bool works = mode == "working";
    const Pipe there;
    const Pipe back;
    pid_t child = 0;
    std::thread other;
    if (mode == "threads") {
        other = std::thread{[&] { answer(there, back, 0); }};
    } else if ((child = fork()) == 0) {
        answer(there, back, mode == "apart" ? 1 : 0);
        return 0;
    }
    run_on(0);
    const auto clock = works               ? targets::thread_cpu_ns
                       : mode == "threads" ? process_cpu_ns
                                           : targets::wall_ns;
    const std::uint64_t start = clock();
    const std::uint64_t length = targets::seconds_to_ns(argv[2]);
    const std::uint64_t end_of_rounds = start + length / (works ? 3 : 1);
    const std::uint64_t wall_start = targets::wall_ns();
    std::uint64_t state = 88172645463325252U;
    std::uint64_t rounds = 0;
    for (; rounds % kRoundsBetweenLooks != 0 || clock() < end_of_rounds; ++rounds) {
        state = works ? work(state) : state;
        give(there, 'x');
        if (!take(back)) {
            return 1;
        }
    }
    targets::tell("round_ns", (targets::wall_ns() - wall_start) / rounds);
    while (clock() < start + length) {
        state = work(state);
    }
    targets::consume(state);
    give(there, 'e');
    if (child != 0) {
        waitpid(child, nullptr, 0);
    } else {
        other.join();
    }
    targets::tell("rounds", rounds);
    targets::tell("interrupted", g_interrupted);
    return 0;
}

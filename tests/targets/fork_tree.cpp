// A tree of processes by fork, each of which works.
//
//     fork_tree DEPTH FANOUT SECONDS
//
// Stats: 1 + FANOUT + … + FANOUT^DEPTH processes; each uses SECONDS of CPU time, the first in
// parent_work(), all others in child_work(). The first prints `processes=` and the CPU time of its
// own and of its children by getrusage.
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

TARGET_KEEP void parent_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

TARGET_KEEP void child_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

/// Returns how many processes there are at and below this one, or 0 if one of them failed.
static unsigned grow(unsigned long depth, unsigned long fanout, std::uint64_t cpu_ns) {
    unsigned processes = 1;
    for (unsigned long child = 0; depth > 0 && child < fanout; ++child) {
        const pid_t pid = fork();
        if (pid == 0) {
            child_work(cpu_ns);
            _exit(static_cast<int>(grow(depth - 1, fanout, cpu_ns)));
        }
    }
    for (int status = 0; wait(&status) > 0;) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) {
            return 0;
        }
        processes += static_cast<unsigned>(WEXITSTATUS(status));
    }
    return processes;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("DEPTH FANOUT SECONDS");
    }
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[3]);
    parent_work(cpu_ns);
    const unsigned processes = grow(targets::number(argv[1]), targets::number(argv[2]), cpu_ns);
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    targets::tell("processes", processes);
    targets::tell("process_cpu_us", targets::process_cpu_us());
    targets::tell(
        "children_cpu_us",
        static_cast<std::uint64_t>(children.ru_utime.tv_sec + children.ru_stime.tv_sec) *
                1'000'000U +
            static_cast<std::uint64_t>(children.ru_utime.tv_usec + children.ru_stime.tv_usec));
    return processes > 0 ? 0 : 1;
}

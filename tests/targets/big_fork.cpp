// A process with much memory that forks.
//
//     big_fork MEGABYTES FORKS
//
// Maps and touches MEGABYTES in pages of 4 KiB, then forks FORKS times; each child exits at once
// and is waited for. Stats: `fork_ns=` a fork, how long fork() took the parent, `turn_ns=` until
// the child was gone, by the wall clock; `process_cpu_us=` by getrusage.
#include "work.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

TARGET_KEEP void fork_once(std::uint64_t& fork_ns, std::uint64_t& turn_ns) {
    const std::uint64_t start = targets::wall_ns();
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    fork_ns = targets::wall_ns() - start;
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        std::perror("fork");
        std::exit(1);
    }
    turn_ns = targets::wall_ns() - start;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("MEGABYTES FORKS");
    }
    const std::size_t bytes = targets::number(argv[1]) << 20U;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 1;
    }
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += 4096) {
        static_cast<volatile char*>(memory)[at] = 1;
    }
    const unsigned long count = targets::number(argv[2]);
    std::vector<std::uint64_t> fork_ns(count);
    std::vector<std::uint64_t> turn_ns(count);
    for (unsigned long time = 0; time < count; ++time) {
        fork_once(fork_ns[time], turn_ns[time]);
    }
    for (unsigned long time = 0; time < count; ++time) {
        targets::tell("fork_ns", fork_ns[time]);
        targets::tell("turn_ns", turn_ns[time]);
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

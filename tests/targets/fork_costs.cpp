// A process with much memory that forks.
//
//     fork_costs MEGABYTES FORKS
//
// Stats: MEGABYTES are touched page by page; then FORKS times fork_all() calls fork, whose child
// ends at once, and work_after() works 20 ms. `fork_cpu_us=` is the CPU time of the forks,
// `after_cpu_us=` that of the work.
#include "work.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TARGET_KEEP static pid_t fork_all() {
    const pid_t pid = fork();
    asm volatile("" ::: "memory");
    return pid;
}

TARGET_KEEP static void work_after() {
    targets::burn(20'000'000);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("MEGABYTES FORKS");
    }
    const std::size_t bytes = targets::number(argv[1]) << 20U;
    auto* memory = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) {
        return 3;
    }
    // Page tables are what a fork copies.
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += 4096) {
        memory[at] = 1;
    }
    std::uint64_t forks_ns = 0;
    std::uint64_t after_ns = 0;
    for (unsigned long left = targets::number(argv[2]); left > 0; --left) {
        const std::uint64_t start = targets::thread_cpu_ns();
        const pid_t pid = fork_all();
        if (pid == 0) {
            _exit(0);
        }
        const std::uint64_t forked = targets::thread_cpu_ns();
        work_after();
        after_ns += targets::thread_cpu_ns() - forked;
        forks_ns += forked - start;
        waitpid(pid, nullptr, 0);
    }
    targets::tell("fork_cpu_us", forks_ns / 1000);
    targets::tell("after_cpu_us", after_ns / 1000);
    return 0;
}

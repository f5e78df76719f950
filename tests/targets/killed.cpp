// A program that works and then dies.
//
//     killed kill|segv|abort|term|exit SECONDS
//
// Stats: SECONDS of CPU time in before_death(), said on stdout (`work_cpu_ns=`) before the end by
// SIGKILL, a null write, abort(), SIGTERM's default, or _exit(9) that runs no destructor.
#include "work.h"

#include <unistd.h>

#include <csignal>

TARGET_KEEP void before_death(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

static void die(const char* how) {
    if (std::strcmp(how, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (std::strcmp(how, "segv") == 0) {
        volatile int* volatile nowhere = nullptr;
        *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): the subject of the test
    } else if (std::strcmp(how, "abort") == 0) {
        std::abort();
    } else if (std::strcmp(how, "term") == 0) {
        kill(getpid(), SIGTERM);
    } else {
        _exit(9);
    }
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("kill|segv|abort|term|exit SECONDS");
    }
    const std::uint64_t start = targets::thread_cpu_ns();
    before_death(targets::seconds_to_ns(argv[2]));
    targets::tell("work_cpu_ns", targets::thread_cpu_ns() - start);
    std::fflush(stdout);
    die(argv[1]);
    return 1;
}

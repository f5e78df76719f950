// A thread that has worked, and only sleeps from then on.
//
//     works_then_sleeps FILE END
//
// It works in works_first() until FILE is there, makes FILE.seen, and sleeps in sleeps_on() until
// END is there. `worked_us=` is the CPU time of the first part, `slept_us=` how long the second one
// took, without what it waited for a processor. Source: Linux,
// Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

TARGET_KEEP void works_first(const char* file) {
    while (access(file, F_OK) != 0) {
        targets::burn(1'000'000);
    }
}

TARGET_KEEP void sleeps_on(const char* file) {
    while (access(file, F_OK) != 0) {
        targets::sleep_until(targets::wall_ns() + 10'000'000);
    }
}

static std::uint64_t delayed_ns() {
    unsigned long long delayed_ns = 0;
    std::FILE* const file = std::fopen("/proc/self/schedstat", "re");
    if (file == nullptr || std::fscanf(file, "%*u %llu", &delayed_ns) != 1) {
        std::abort();
    }
    std::fclose(file);
    return delayed_ns;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("FILE END");
    }
    works_first(argv[1]);
    targets::tell("worked_us", targets::thread_cpu_ns() / 1000);
    close(open((std::string{argv[1]} + ".seen").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::uint64_t start = targets::wall_ns() - delayed_ns();
    sleeps_on(argv[2]);
    targets::tell("slept_us", (targets::wall_ns() - delayed_ns() - start) / 1000);
}

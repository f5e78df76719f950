// A process that becomes another program by an exec of its second thread.
//
//     exec_elsewhere FILE SECONDS COMMAND...
//
// The second thread works for SECONDS of its CPU time and until FILE is there, and execs COMMAND,
// while the first one waits for it: that one ends, and its number is the other's from then on.
#include "work.h"

#include <unistd.h>

#include <thread>

TARGET_KEEP void works_before(const char* file, std::uint64_t cpu_ns) {
    do {
        targets::burn(cpu_ns);
    } while (access(file, F_OK) != 0);
}

int main(int argc, char** argv) {
    if (argc < 4) {
        return targets::usage("FILE SECONDS COMMAND...");
    }
    std::thread{[argv] {
        works_before(argv[1], targets::seconds_to_ns(argv[2]));
        execv(argv[3], argv + 3);
    }}.join();
    return 1;
}

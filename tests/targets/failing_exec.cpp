// Execs that fail, and work that goes on after them.
//
//     failing_exec N SECONDS
//
// Stats: `failures=N`; then SECONDS of CPU time in after_failure(), which is nearly all the time
// there is: a profiler that disarms before an exec and stays disarmed sees next to nothing.
#include "work.h"

#include <unistd.h>

TARGET_KEEP void after_failure(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("N SECONDS");
    }
    const unsigned long count = targets::number(argv[1]);
    char name[] = "missing";
    char* const words[] = {name, nullptr};
    std::uint64_t failures = 0;
    for (unsigned long time = 0; time < count; ++time) {
        const int outcome = time % 2 == 0 ? execve("/nonexistent/program", words, environ)
                                          : execvp("no-such-program-anywhere", words);
        failures += outcome == -1 && errno == ENOENT ? 1 : 0;
        targets::burn(50'000);
    }
    after_failure(targets::seconds_to_ns(argv[2]));
    targets::tell("failures", failures);
    return failures == count ? 0 : 1;
}

// A process with busy threads, one of which execs: the kernel ends the others in mid-work.
//
//     exec_churn N THREADS
//
// Stats: N images one after the other, each with THREADS busy threads; a thread other than the main
// one calls exec. The last prints `execs=N` and ends with 0.
#include "work.h"

#include <unistd.h>

#include <string>
#include <thread>

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("N THREADS");
    }
    const unsigned long left = targets::number(argv[1]);
    const std::string total = argc > 3 ? argv[3] : argv[1];
    if (left == 0) {
        targets::tell("execs", targets::number(total.c_str()));
        return 0;
    }
    for (unsigned long thread = 0; thread < targets::number(argv[2]); ++thread) {
        std::thread{[] {
            for (;;) {
                targets::burn(1'000'000'000);
            }
        }}.detach();
    }
    std::thread{[&] {
        targets::burn(2'000'000);
        const std::string next = std::to_string(left - 1);
        execl("/proc/self/exe", argv[0], next.c_str(), argv[2], total.c_str(), nullptr);
        std::printf("exec failed with %lu left: %s\n", left, strerrordesc_np(errno));
        std::exit(3);  // NOLINT(concurrency-mt-unsafe): the end of a failed run
    }}.join();
}

// A program with a thread that is older than main: a library that it is linked with starts one.
//
//     early_threads SECONDS
//
// Stats: the thread, called early-bird, uses SECONDS of CPU time in early_work() of that library;
// the main thread uses half as much in late_work().
#include "work.h"

void release_early_thread(std::uint64_t nanoseconds);

TARGET_KEEP void late_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("SECONDS");
    }
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[1]);
    late_work(cpu_ns / 2);
    release_early_thread(cpu_ns);
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

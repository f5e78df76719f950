// Many threads that live shorter than a sampling period.
//
//     short_threads N CPU_US [AT_ONCE]
//
// Stats: N threads named "short", AT_ONCE (default 2) alive at a time, each of which works CPU_US
// microseconds of its own CPU time in short_work(), the start of the thread included.
// `threads_cpu_ns=` is the sum of their own clocks at the end of their work; `main_cpu_ns=` the
// main thread's, which only creates and joins; `process_cpu_us=` by getrusage.
#include "work.h"

#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

std::atomic<std::uint64_t> g_cpu_ns{0};

}  // namespace

/// Work in steps of about five microseconds, until the thread's clock says `cpu_ns`.
TARGET_KEEP void short_work(std::uint64_t cpu_ns) {
    std::uint64_t state = 88172645463325252U;
    while (targets::thread_cpu_ns() < cpu_ns) {
        for (int unit = 0; unit < 10; ++unit) {
            state = targets::work_unit(state);
        }
        targets::consume(state);
    }
}

static void live(std::uint64_t cpu_ns) {
    pthread_setname_np(pthread_self(), "short");
    short_work(cpu_ns);
    g_cpu_ns += targets::thread_cpu_ns();
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        return targets::usage("N CPU_US [AT_ONCE]");
    }
    const unsigned long count = targets::number(argv[1]);
    const std::uint64_t cpu_ns = targets::number(argv[2]) * 1000;
    const unsigned long at_once = argc == 4 ? targets::number(argv[3]) : 2;
    std::vector<std::thread> threads(at_once);
    for (unsigned long started = 0; started < count; ++started) {
        std::thread& place = threads[started % at_once];
        if (place.joinable()) {
            place.join();
        }
        place = std::thread{live, cpu_ns};
    }
    for (std::thread& thread : threads) {
        if (thread.joinable()) {
            thread.join();
        }
    }
    targets::tell("threads", count);
    targets::tell("threads_cpu_ns", g_cpu_ns.load());
    targets::tell("main_cpu_ns", targets::thread_cpu_ns());
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

// Equal threads, named worker-1 to worker-N; and others, that wait until these have ended.
//
//     threads N SECONDS [OTHERS]
//
// Stats: every worker uses SECONDS of its own CPU time in worker_main below burn(); the main thread
// only waits. `worker_cpu_ns=` once a worker, in order.
#include "work.h"

#include <pthread.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

TARGET_KEEP void worker_main(unsigned long index, std::uint64_t cpu_ns, std::uint64_t& used) {
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(index)).c_str());
    targets::burn(cpu_ns);
    used = targets::thread_cpu_ns();
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        return targets::usage("N SECONDS [OTHERS]");
    }
    const unsigned long count = targets::number(argv[1]);
    std::latch end{1};
    std::vector<std::thread> others(argc == 4 ? targets::number(argv[3]) : 0);
    for (auto& other : others) {
        other = std::thread{[&] { end.wait(); }};
    }
    std::vector<std::uint64_t> used(count);
    std::vector<std::thread> workers;
    for (unsigned long index = 0; index < count; ++index) {
        workers.emplace_back(worker_main, index + 1, targets::seconds_to_ns(argv[2]),
                             std::ref(used[index]));
    }
    for (auto& worker : workers) {
        worker.join();
    }
    end.count_down();
    for (auto& other : others) {
        other.join();
    }
    for (const std::uint64_t cpu_ns : used) {
        targets::tell("worker_cpu_ns", cpu_ns);
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

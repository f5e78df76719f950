// Threads that block every signal, as many libraries' threads do.
//
//     masks THREADS SECONDS
//
// Truth: each thread blocks all signals by sigfillset and works SECONDS of CPU time in
// blocked_work(); before and after, its mask reads back full but for SIGKILL and SIGSTOP, which
// nobody can block. `full=` counts the threads for which that held.
#include "work.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace {

bool mask_is_full() {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    for (int signal = 1; signal < 32; ++signal) {
        if (signal != SIGKILL && signal != SIGSTOP && sigismember(&now, signal) != 1) {
            return false;
        }
    }
    return true;
}

}  // namespace

TARGET_KEEP void blocked_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("THREADS SECONDS");
    }
    const unsigned long count = targets::number(argv[1]);
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[2]);
    std::atomic<std::uint64_t> full = 0;
    std::vector<std::thread> threads;
    for (unsigned long thread = 0; thread < count; ++thread) {
        threads.emplace_back([&] {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, nullptr);
            const bool before = mask_is_full();
            blocked_work(cpu_ns);
            full += before && mask_is_full() ? 1 : 0;
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    targets::tell("full", full);
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

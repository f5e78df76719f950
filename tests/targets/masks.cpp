// Threads that block every signal, as many libraries' threads do.
//
//     masks THREADS SECONDS [HOW]
//
// HOW: in the thread by pthread_sigmask (default) or by sigprocmask; inherited, from the main
// thread; attribute, by pthread_attr_setsigmask_np.
//
// Stats: each thread has all signals blocked by sigfillset and works SECONDS of CPU time in
// blocked_work(); before and after, its mask reads back full but for SIGKILL and SIGSTOP, which
// nobody can block. `full=` counts the threads for which that held.
#include "work.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <string_view>
#include <vector>

namespace {

std::string_view how = "pthread_sigmask";
std::uint64_t cpu_ns = 0;
std::atomic<std::uint64_t> full = 0;

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

TARGET_KEEP void blocked_work(std::uint64_t work_ns) {
    targets::burn(work_ns);
}

namespace {

void* work(void* /*unused*/) {
    sigset_t all;
    sigfillset(&all);
    if (how == "pthread_sigmask") {
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
    } else if (how == "sigprocmask") {
        sigprocmask(SIG_BLOCK, &all, nullptr);  // NOLINT(concurrency-mt-unsafe): Linux's is not
    }
    const bool before = mask_is_full();
    blocked_work(cpu_ns);
    full += before && mask_is_full() ? 1 : 0;
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        return targets::usage("THREADS SECONDS [HOW]");
    }
    cpu_ns = targets::seconds_to_ns(argv[2]);
    how = argc == 4 ? argv[3] : how;
    sigset_t all;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (how == "attribute") {
        pthread_attr_setsigmask_np(&attributes, &all);
    } else if (how == "inherited") {
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
    }
    std::vector<pthread_t> threads(targets::number(argv[1]));
    for (pthread_t& thread : threads) {
        pthread_create(&thread, &attributes, work, nullptr);
    }
    for (const pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
    targets::tell("full", full);
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

// A library that starts a thread when it is loaded: before main, and before libraries that are
// preloaded. See early_threads.cpp.
#include "work.h"

#include <pthread.h>

#include <atomic>

TARGET_KEEP void early_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

namespace {

pthread_t thread;
std::atomic<std::uint64_t> cpu_ns = 0;
std::atomic<bool> has_order = false;

void* wait_and_work(void* /*unused*/) {
    pthread_setname_np(pthread_self(), "early-bird");
    while (!has_order) {
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    early_work(cpu_ns);
    return nullptr;
}

__attribute__((constructor)) void start() {
    pthread_create(&thread, nullptr, wait_and_work, nullptr);
}

}  // namespace

void release_early_thread(std::uint64_t nanoseconds) {
    cpu_ns = nanoseconds;
    has_order = true;
    pthread_join(thread, nullptr);
}

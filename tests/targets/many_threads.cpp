// Very many threads, one after the other or all at once.
//
//     many_threads COUNT AT-ONCE MICROSECONDS
//
// Stats: COUNT threads are made, AT-ONCE of which exist at the same time; each uses MICROSECONDS of
// CPU time in short_work(). `made=` says how many were.
#include "work.h"

#include <pthread.h>

#include <vector>

TARGET_KEEP void short_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

namespace {

std::uint64_t work_ns = 0;
pthread_barrier_t all_there;

void* work(void* waits) {
    if (waits != nullptr) {
        pthread_barrier_wait(&all_there);
    }
    short_work(work_ns);
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("COUNT AT-ONCE MICROSECONDS");
    }
    const unsigned long count = targets::number(argv[1]);
    const unsigned long at_once = targets::number(argv[2]);
    work_ns = targets::number(argv[3]) * 1000;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, std::size_t{64} * 1024);
    std::vector<pthread_t> threads(at_once);
    unsigned long made = 0;
    while (made < count) {
        pthread_barrier_init(&all_there, nullptr, static_cast<unsigned>(at_once));
        for (pthread_t& thread : threads) {
            made += pthread_create(&thread, &small, work, at_once > 1 ? &all_there : nullptr) == 0;
        }
        for (const pthread_t thread : threads) {
            pthread_join(thread, nullptr);
        }
    }
    targets::tell("made", made);
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

// Very many threads, one after the other or all at once.
//
//     many_threads COUNT AT-ONCE MICROSECONDS
//
// Stats: COUNT threads are made, AT-ONCE of which exist at the same time; each uses MICROSECONDS of
// CPU time in short_work(). `made=` says how many were, `main_cpu_ns=` what the main thread has
// used, and of the last that existed together each has a `tid=` and a `cpu_ns=`: its clock behind
// its work.
#include "work.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

TARGET_KEEP void short_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

namespace {

struct Worker {
    pthread_t thread;
    bool waits;
    pid_t tid;
    std::uint64_t cpu_ns;
};

std::uint64_t work_ns = 0;
pthread_barrier_t all_there;

void* work(void* argument) {
    auto& self = *static_cast<Worker*>(argument);
    self.tid = gettid();
    if (self.waits) {
        pthread_barrier_wait(&all_there);
    }
    short_work(work_ns);
    self.cpu_ns = targets::thread_cpu_ns();
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
    std::vector<Worker> workers(at_once, Worker{{}, at_once > 1, 0, 0});
    unsigned long made = 0;
    while (made < count) {
        pthread_barrier_init(&all_there, nullptr, static_cast<unsigned>(at_once));
        for (Worker& worker : workers) {
            if (const int error = pthread_create(&worker.thread, &small, work, &worker);
                error != 0) {
                std::fprintf(stderr, "thread %lu: %s\n", made, std::strerror(error));
                return 1;  // the others would wait for it
            }
            ++made;
        }
        for (const Worker& worker : workers) {
            pthread_join(worker.thread, nullptr);
        }
    }
    for (const Worker& worker : workers) {
        targets::tell("tid", static_cast<unsigned long>(worker.tid));
        targets::tell("cpu_ns", worker.cpu_ns);
    }
    targets::tell("made", made);
    targets::tell("main_cpu_ns", targets::thread_cpu_ns());
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

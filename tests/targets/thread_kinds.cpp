// Two threads of one kind, with work of their own.
//
//     thread_kinds KIND SECONDS
//
// KIND: pthread, std (C++), c11, openmp (only where the compiler has it: else status 77); timer
// (libc's, which call two timers' functions), timer-made (by pthread_create in such a function); or
// by the bare clone: raw (shares its maker's thread-local storage), raw-inside (and its stack lies
// on its maker's), raw-tls (has its own), raw-foreign (what it has for it is no thread control
// block of libc's, and below is nothing mapped; it calls nothing of libc's).
//
// Stats: each of the two uses SECONDS of CPU time in kind_work(), `worker_cpu_ns=` each (0 where
// the thread cannot tell); the main thread waits. `user_us=`: what the process was in its own code,
// as the kernel counts it.
#include "work.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <string_view>
#include <thread>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} * 1024;
constexpr std::size_t kTlsBytes = std::size_t{64} * 1024;
constexpr int kThreads = 2;

std::uint64_t work_ns = 0;
std::uint64_t used[kThreads] = {};

}  // namespace

TARGET_KEEP void kind_work(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

/// The same without a call: some 0.5 ns a step.
TARGET_KEEP void foreign_work(std::uint64_t cpu_ns) {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t unit = 0; unit < cpu_ns / 500; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

namespace {

void work_as(int worker) {
    kind_work(work_ns);
    used[worker] = targets::thread_cpu_ns();
}

void* pthread_worker(void* index) {
    work_as(*static_cast<int*>(index));
    return nullptr;
}

int c11_worker(void* index) {
    work_as(*static_cast<int*>(index));
    return 0;
}

int raw_foreign_worker(void* /*unused*/) {
    foreign_work(work_ns);
    return 0;
}

void run_pthreads() {
    pthread_t threads[kThreads];
    int indices[kThreads] = {0, 1};
    for (int i = 0; i < kThreads; ++i) {
        pthread_create(&threads[i], nullptr, pthread_worker, &indices[i]);
    }
    for (const pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
}

/// libc calls `function` in a thread of its own, once.
void start_timer(void (*function)(sigval), int index) {
    timer_t timer{};
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = function;
    event.sigev_value.sival_int = index;
    itimerspec soon{};
    soon.it_value.tv_nsec = 1;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &soon, nullptr) != 0) {
        std::perror("timer_create");
        std::exit(3);
    }
}

sem_t g_called;

void run_timers() {
    sem_init(&g_called, 0, 0);
    for (int i = 0; i < kThreads; ++i) {
        start_timer(
            [](sigval index) {
                work_as(index.sival_int);
                sem_post(&g_called);
            },
            i);
    }
    for (int i = 0; i < kThreads; ++i) {
        sem_wait(&g_called);
    }
}

void run_timer_made() {
    sem_init(&g_called, 0, 0);
    start_timer(
        [](sigval /*unused*/) {
            run_pthreads();
            sem_post(&g_called);
        },
        0);
    sem_wait(&g_called);
}

void run_std() {
    std::thread one{work_as, 0};
    std::thread two{work_as, 1};
    one.join();
    two.join();
}

void run_c11() {
    thrd_t threads[kThreads];
    int indices[kThreads] = {0, 1};
    for (int i = 0; i < kThreads; ++i) {
        thrd_create(&threads[i], c11_worker, &indices[i]);
    }
    for (const thrd_t thread : threads) {
        thrd_join(thread, nullptr);
    }
}

void run_openmp() {
#ifdef _OPENMP
#pragma omp parallel num_threads(kThreads + 1)
    if (omp_get_thread_num() != 0) {
        work_as(omp_get_thread_num() - 1);
    }
#else
    std::exit(77);
#endif
}

char* map(std::size_t bytes) {
    return static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/// A thread control block as libc's, as far as compiled code goes by it: it points at itself, and
/// has the stack protector's word. Source: glibc sysdeps/x86_64/nptl/tls.h, tcbhead_t.
void* make_tls() {
    char* block = map(kTlsBytes) + kTlsBytes / 2;
    void* self = block;
    std::memcpy(block, &self, sizeof self);
    std::memcpy(block + 16, &self, sizeof self);
    std::uint64_t guard = 0;
    asm("movq %%fs:40, %0" : "=r"(guard));
    std::memcpy(block + 40, &guard, sizeof guard);
    return block;
}

void* make_foreign_tls() {
    constexpr std::size_t kPage = 4096;
    char* pages = map(2 * kPage);
    mprotect(pages, kPage, PROT_NONE);
    return pages + kPage;
}

struct RawThread {
    int tid = 1;  ///< Cleared by the kernel when it ends.
    int index = 0;

    void start(int (*run)(void*), char* stack_top, void* tls) {
        int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
        flags |= tls != nullptr ? CLONE_SETTLS : 0;
        if (clone(run, stack_top, flags, &index, nullptr, tls, &tid) < 0) {
            std::perror("clone");
            std::exit(3);
        }
    }
    void join() {
        for (int now = 1; (now = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)) != 0;) {
            syscall(SYS_futex, &tid, FUTEX_WAIT, now, nullptr, nullptr, 0);
        }
    }
};

void run_raw(int (*run)(void*), void* (*tls)()) {
    RawThread threads[kThreads];
    for (int i = 0; i < kThreads; ++i) {
        threads[i].index = i;
        threads[i].start(run, map(kStackBytes) + kStackBytes, tls != nullptr ? tls() : nullptr);
    }
    for (RawThread& thread : threads) {
        thread.join();
    }
}

void run_raw_inside() {
    alignas(16) char stacks[kThreads][kStackBytes];
    RawThread threads[kThreads];
    for (int i = 0; i < kThreads; ++i) {
        threads[i].index = i;
        threads[i].start(c11_worker, stacks[i] + kStackBytes, nullptr);
    }
    for (RawThread& thread : threads) {
        thread.join();
    }
}

bool run_kind(std::string_view kind) {
    if (kind == "pthread") {
        run_pthreads();
    } else if (kind == "std") {
        run_std();
    } else if (kind == "c11") {
        run_c11();
    } else if (kind == "openmp") {
        run_openmp();
    } else if (kind == "timer") {
        run_timers();
    } else if (kind == "timer-made") {
        run_timer_made();
    } else if (kind == "raw") {
        run_raw(c11_worker, nullptr);
    } else if (kind == "raw-inside") {
        run_raw_inside();
    } else if (kind == "raw-tls") {
        run_raw(c11_worker, make_tls);
    } else if (kind == "raw-foreign") {
        run_raw(raw_foreign_worker, make_foreign_tls);
    } else {
        return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("KIND SECONDS");
    }
    work_ns = targets::seconds_to_ns(argv[2]);
    if (!run_kind(argv[1])) {
        return targets::usage("KIND SECONDS");
    }
    for (const std::uint64_t cpu_ns : used) {
        targets::tell("worker_cpu_ns", cpu_ns);
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    targets::tell("user_us", static_cast<std::uint64_t>(usage.ru_utime.tv_sec) * 1'000'000U +
                                 static_cast<std::uint64_t>(usage.ru_utime.tv_usec));
}

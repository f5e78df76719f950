// Threads of every kind, and what ends them.
#include "storm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <string>

namespace storm {
namespace {

struct Part {
    std::uint64_t seed = 0;
    std::uint64_t sum = 0;
};

void* do_part(void* argument) {
    auto* part = static_cast<Part*>(argument);
    part->sum = work(part->seed);
    return part;
}

pthread_t start(const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
    pthread_t thread{};
    errno = pthread_create(&thread, attributes, run, argument);
    require(errno == 0, "pthread_create");
    return thread;
}

std::uint64_t pthreads_with(std::uint64_t seed, const pthread_attr_t* attributes,
                            std::size_t count) {
    std::array<Part, 40> parts;
    std::array<pthread_t, 40> threads{};
    for (std::size_t number = 0; number < count; ++number) {
        parts[number].seed = mix(seed, number);
        threads[number] = start(attributes, do_part, &parts[number]);
    }
    std::uint64_t sum = 0;
    for (std::size_t number = 0; number < count; ++number) {
        void* result = nullptr;
        require(pthread_join(threads[number], &result) == 0 && result == &parts[number], "join");
        sum = mix(sum, parts[number].sum);
    }
    return sum;
}

std::uint64_t pthreads(std::uint64_t seed) {
    return pthreads_with(seed, nullptr, 1 + seed % 6);
}

/// The smallest stack that libc accepts: thread-local storage lies on it, too.
std::uint64_t smallest_stacks(std::uint64_t seed) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const std::size_t bytes = std::max<long>(16384, sysconf(_SC_THREAD_STACK_MIN));
    require(pthread_attr_setstacksize(&attributes, bytes) == 0, "stack size");
    const std::uint64_t sum = pthreads_with(seed, &attributes, 1 + seed % 4);
    pthread_attr_destroy(&attributes);
    return sum;
}

std::uint64_t many_threads(std::uint64_t seed) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{64} * 1024);
    const std::uint64_t sum = pthreads_with(seed, &attributes, 40);
    pthread_attr_destroy(&attributes);
    return sum;
}

/// A stack that the program brings, with a page below it that nobody may touch; it is unmapped as
/// soon as the thread is joined.
std::uint64_t own_stack(std::uint64_t seed) {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kBytes = 8 * kPage;
    void* low =
        mmap(nullptr, kPage + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(low != MAP_FAILED && mprotect(low, kPage, PROT_NONE) == 0, "mmap");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    require(pthread_attr_setstack(&attributes, static_cast<char*>(low) + kPage, kBytes) == 0,
            "setstack");
    const std::uint64_t sum = pthreads_with(seed, &attributes, 1);
    pthread_attr_destroy(&attributes);
    munmap(low, kPage + kBytes);
    return sum;
}

void add_one(void* count) {
    ++*static_cast<int*>(count);
}

void* wait_for_cancellation(void* cleaned) {
    pthread_cleanup_push(add_one, cleaned);
    for (;;) {
        targets::consume(work(1, 20));
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return nullptr;
}

void* sleep_for_cancellation(void* cleaned) {
    pthread_cleanup_push(add_one, cleaned);
    for (;;) {
        pause();
    }
    pthread_cleanup_pop(1);
    return nullptr;
}

std::uint64_t cancelled(std::uint64_t seed) {
    int cleaned = 0;
    const pthread_t thread =
        start(nullptr, seed % 2 == 0 ? wait_for_cancellation : sleep_for_cancellation, &cleaned);
    targets::consume(work(seed));
    require(pthread_cancel(thread) == 0, "pthread_cancel");
    void* result = nullptr;
    require(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned == 1,
            "cancelled");
    return seed % 2;
}

struct Detached {
    Part part;
    pid_t tid = 0;
    sem_t done{};
};

void* do_detached(void* argument) {
    auto* detached = static_cast<Detached*>(argument);
    do_part(&detached->part);
    detached->tid = gettid();
    sem_post(&detached->done);
    return nullptr;
}

/// It is waited for until it has gone: it could get a signal that is another operation's.
std::uint64_t detached(std::uint64_t seed) {
    Detached one{{seed, 0}};
    sem_init(&one.done, 0, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)start(&attributes, do_detached, &one);
    pthread_attr_destroy(&attributes);
    while (sem_wait(&one.done) != 0) {
        require(errno == EINTR, "sem_wait");
    }
    sem_destroy(&one.done);
    while (syscall(SYS_tgkill, getpid(), one.tid, 0) == 0) {
        sched_yield();
    }
    return one.part.sum;
}

/// Each thread starts the next one, and leaves by pthread_exit from a call.
void* do_chain(void* argument) {
    auto* part = static_cast<Part*>(argument);
    if (part->seed % 8 != 0) {
        Part next{part->seed - 1, 0};
        pthread_join(start(nullptr, do_chain, &next), nullptr);
        part->sum = next.sum;
    }
    part->sum = mix(part->sum, work(part->seed));
    pthread_exit(part);
}

std::uint64_t thread_chain(std::uint64_t seed) {
    Part first{seed, 0};
    pthread_join(start(nullptr, do_chain, &first), nullptr);
    return first.sum;
}

int do_c11(void* argument) {
    do_part(argument);
    return 17;
}

std::uint64_t c11_threads(std::uint64_t seed) {
    Part part{seed, 0};
    thrd_t thread{};
    require(thrd_create(&thread, do_c11, &part) == thrd_success, "thrd_create");
    int result = 0;
    require(thrd_join(thread, &result) == thrd_success && result == 17, "thrd_join");
    return part.sum;
}

std::uint64_t futures(std::uint64_t seed) {
    std::future<std::uint64_t> one = std::async(std::launch::async, [seed] { return work(seed); });
    std::future<std::uint64_t> two = std::async(std::launch::async, [seed]() -> std::uint64_t {
        targets::consume(work(seed));
        throw std::runtime_error{"thrown into another thread"};
    });
    try {
        (void)two.get();
    } catch (const std::runtime_error& error) {
        return one.get() + std::string{error.what()}.size();
    }
    require(false, "an exception is lost");
    return 0;
}

struct AddsAtEnd {
    std::uint64_t* sum = nullptr;
    AddsAtEnd() = default;
    AddsAtEnd(const AddsAtEnd&) = delete;
    AddsAtEnd& operator=(const AddsAtEnd&) = delete;
    ~AddsAtEnd() {
        if (sum != nullptr) {
            *sum = work(*sum);
        }
    }
};

thread_local AddsAtEnd t_end;

std::uint64_t local_destructors(std::uint64_t seed) {
    std::uint64_t sum = seed;
    std::thread{[&sum] { t_end.sum = &sum; }}.join();
    require(sum != seed, "the destructor did not run");
    return sum;
}

struct RawThread {
    Part part;
    int tid = 1;  ///< Cleared by the kernel when it ends.
};

// It shares its maker's thread-local storage, so it must not call libc.
int do_raw(void* argument) {
    do_part(&static_cast<RawThread*>(argument)->part);
    return 0;
}

/// A thread by clone(2), without storage of its own.
std::uint64_t bare_clone(std::uint64_t seed) {
    constexpr std::size_t kBytes = std::size_t{64} * 1024;
    auto* stack = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    require(stack != MAP_FAILED, "mmap");
    RawThread thread{{seed, 0}};
    constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                           CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    require(clone(do_raw, stack + kBytes, kFlags, &thread, nullptr, nullptr, &thread.tid) > 0,
            "clone");
    for (int now = 1; (now = __atomic_load_n(&thread.tid, __ATOMIC_ACQUIRE)) != 0;) {
        syscall(SYS_futex, &thread.tid, FUTEX_WAIT, now, nullptr, nullptr, 0);
    }
    munmap(stack, kBytes);
    return thread.part.sum;
}

std::uint64_t fork_and_exec(std::uint64_t seed) {
    const Image image{seed, true};
    require_exit(start_child(seed,
                             [&] {
                                 targets::consume(work(seed));
                                 execv(image.argv[0], image.argv);
                             }),
                 image.code);
    return work(seed);
}

/// Threads that all fork and exec.
std::uint64_t forks_in_threads(std::uint64_t seed) {
    return in_threads(seed, 2 + seed % 2, fork_and_exec);
}

struct ExecInThread {
    char* const* argv;
    std::uint64_t seed;
};

void* exec_now(void* argument) {
    const auto* exec = static_cast<ExecInThread*>(argument);
    targets::consume(work(exec->seed));
    execv(exec->argv[0], exec->argv);
    return nullptr;
}

void* work_for_ever(void* seed) {
    for (;;) {
        targets::consume(work(*static_cast<std::uint64_t*>(seed)));
    }
}

/// Another thread than the main one execs, while a third one works.
std::uint64_t exec_in_thread(std::uint64_t seed) {
    const Image image{seed, true};
    std::uint64_t given = seed;
    require_exit(start_child(seed,
                             [&] {
                                 ExecInThread exec{image.argv, seed};
                                 (void)start(nullptr, work_for_ever, &given);
                                 (void)start(nullptr, exec_now, &exec);
                                 for (;;) {
                                     pause();
                                 }
                             }),
                 image.code);
    return seed % 101;
}

void* exit_process(void* code) {
    targets::consume(work(7));
    _exit(*static_cast<int*>(code));
}

/// The main thread ends first: the process is a zombie leader until the other one ends it.
std::uint64_t main_thread_ends(std::uint64_t seed) {
    static int code = 0;
    code = code_of(seed);
    require_exit(start_child(seed,
                             [&] {
                                 (void)start(nullptr, exit_process, &code);
                                 syscall(SYS_exit, 3);
                             }),
                 code_of(seed));
    return seed % 103;
}

constexpr Operation kOperations[] = {
    {"pthreads", pthreads, kAnywhere},
    {"smallest_stacks", smallest_stacks, kAnywhere},
    {"many_threads", many_threads, kAnywhere},
    {"own_stack", own_stack, kAnywhere},
    {"cancelled", cancelled, kAnywhere},
    {"detached", detached, kAnywhere},
    {"thread_chain", thread_chain, kAnywhere},
    {"c11_threads", c11_threads, kAnywhere},
    {"futures", futures, kAnywhere},
    {"local_destructors", local_destructors, kAnywhere},
    {"bare_clone", bare_clone, kAnywhere},
    {"forks_in_threads", forks_in_threads, kAnywhere},
    {"exec_in_thread", exec_in_thread, kAlone},
    {"main_thread_ends", main_thread_ends, kAlone},
};

}  // namespace

Operations thread_operations() {
    return kOperations;
}

}  // namespace storm

// allocates_ways WAY: what programs that allocate do besides: leave scopes by longjmp, fork while
// others allocate, take signals, load and unload. Tells on standard output what it allocated.
#include "sample/trace.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

// NOLINTBEGIN(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)
namespace {

SAMPLE_TRACE_MEMORY_HEAP(arena, "arena", nullptr);
SAMPLE_TRACE_MEMORY_TAG(outer, "outer", nullptr);
SAMPLE_TRACE_MEMORY_TAG(inner, "inner", nullptr);

void* volatile g_kept = nullptr;

[[gnu::noinline]] void keep(std::size_t bytes) {
    g_kept = std::malloc(bytes);
}

std::jmp_buf g_out;

// NOLINTBEGIN(modernize-avoid-setjmp-longjmp,cert-err52-cpp): what a C program does.
[[gnu::noinline]] void leaves_by_longjmp() {
    SAMPLE_TRACE_MEMORY_SCOPE(inner);
    SAMPLE_TRACE_ZONE("left by longjmp");
    keep(100);
    std::longjmp(g_out, 1);
}

[[gnu::noinline]] void catches_longjmp() {
    if (setjmp(g_out) == 0) {
        leaves_by_longjmp();
    }
}

[[gnu::noinline]] void is_left_by_longjmp() {
    SAMPLE_TRACE_MEMORY_SCOPE(outer);
    SAMPLE_TRACE_ZONE("around");
    catches_longjmp();
    // Of `inner` still, which nobody has ended.
    keep(20);
}
// NOLINTEND(modernize-avoid-setjmp-longjmp,cert-err52-cpp)

void jumps() {
    for (int i = 0; i < 10; ++i) {
        is_left_by_longjmp();
        keep(3);
    }
}

constexpr int kOfAChild = 500;

[[gnu::noinline]] void child_keeps() {
    for (int i = 0; i < kOfAChild; ++i) {
        keep(40);
    }
}

/// Children of a process whose other threads are in the middle of allocating, mostly.
void forks() {
    constexpr int kChildren = 20;
    std::atomic<bool> ends{false};
    std::array<std::thread, 2> others;
    for (std::thread& other : others) {
        other = std::thread{[&ends] {
            while (!ends.load(std::memory_order_relaxed)) {
                void* volatile block = std::malloc(64);
                std::free(block);
                for (int i = 0; i < 500; ++i) {
                    asm volatile("");
                }
            }
        }};
    }
    int failed = 0;
    for (int i = 0; i < kChildren; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            child_keeps();
            ::_exit(0);
        }
        int status = -1;
        failed += ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
    }
    ends = true;
    for (std::thread& other : others) {
        other.join();
    }
    std::printf("children=%d failed=%d each=%d\n", kChildren, failed, kOfAChild);
}

std::atomic<unsigned> g_handled{0};

[[gnu::noinline]] void handler_allocates(int /*signal*/) {
    void* volatile block = std::malloc(48);
    std::free(block);
    g_handled.fetch_add(1);
}

/// A handler that allocates has interrupted what the program says of its own allocator, and never
/// malloc, which may not be called then (signal-safety(7)).
void signals() {
    constexpr unsigned kEnough = 2'000;
    constexpr itimerspec kSoon{{0, 0}, {0, 100'000}};
    struct sigaction action {};
    action.sa_handler = handler_allocates;
    ::sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer{};
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    static std::array<char, 64> block{};
    unsigned long long rounds = 0;
    unsigned handled = g_handled.load() + 1;
    while (g_handled.load() < kEnough) {
        // Not by the handler: its return may take longer than that.
        if (const unsigned now = g_handled.load(); now != handled) {
            handled = now;
            ::timer_settime(timer, 0, &kSoon, nullptr);
        }
        SAMPLE_TRACE_MEMORY_ALLOC_STACK(arena, block.data(), 64, 16);
        SAMPLE_TRACE_MEMORY_FREE(arena, block.data());
        ++rounds;
        for (int i = 0; i < 5'000; ++i) {
            asm volatile("");
        }
    }
    ::timer_delete(timer);
    ::signal(SIGUSR1, SIG_IGN);  // One that is under way.
    std::printf("rounds=%llu handled=%u\n", rounds, g_handled.load());
}

int plugins(const char* library) {
    // Long enough for whoever looks at the process's mappings from outside, some 50 ms later, and
    // has to be given a processor for that.
    constexpr timespec kAWhile{0, 500'000'000};
    for (int i = 0; i < 5; ++i) {
        void* const handle = ::dlopen(library, RTLD_NOW);
        if (handle == nullptr) {
            return 1;
        }
        reinterpret_cast<void (*)()>(::dlsym(handle, "plugin_allocates"))();
        ::nanosleep(&kAWhile, nullptr);
        ::dlclose(handle);
        keep(7);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "";
    if (way == "jumps") {
        jumps();
    } else if (way == "forks") {
        forks();
    } else if (way == "signals") {
        signals();
    } else if (way == "plugins" && argc > 2) {
        return plugins(argv[2]);
    } else {
        return 2;
    }
    return 0;
}
// NOLINTEND(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)

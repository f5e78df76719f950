// says_ways WAY: what programs that say something do besides: end threads, fork, exec, load and
// unload, take signals, say more than there is room for. Tells on standard output what it said.
#include "sample/trace.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

using sample::trace::value;

void scopes() {
    const sample::trace::Frame frame{SAMPLE_TRACE_RENDER_FRAME};
    try {
        SAMPLE_TRACE_ZONE("thrown out of");
        throw 1;
    } catch (int) {
        const sample::trace::Zone caught{"caught " + std::to_string(1)};
    }
    SAMPLE_TRACE_ZONE_NOTED("with values", value("n", 3), value("x", 0.5F), value("t", "text"),
                            value("s", std::string{"string"}));
    sample::trace::Region region{"region", "category"};
    std::thread{[taken = std::move(region)]() mutable {
        const sample::trace::Region ended = std::move(taken);
        SAMPLE_TRACE_ZONE("on another thread");
    }}.join();
}

/// More threads than can be at once, none of which is ever sampled, and zones left open.
void threads() {
    for (int i = 0; i < 500; ++i) {
        std::thread{[] {
            SAMPLE_TRACE_ZONE("short");
            SAMPLE_TRACE_ZONE("life");
        }}.join();
    }
    pthread_t thread{};
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            sample_trace_zone zone = 0;
            SAMPLE_TRACE_ZONE_BEGIN(zone, "left open");
            (void)zone;
            ::pthread_exit(nullptr);
        },
        nullptr);
    ::pthread_join(thread, nullptr);
}

void forks(char** argv, bool then_exec) {
    SAMPLE_TRACE_ZONE("parent");
    const pid_t child = ::fork();
    if (child == 0) {
        {
            SAMPLE_TRACE_ZONE("child");
            SAMPLE_TRACE_BOOKMARK("in %s", "child");
        }
        if (then_exec) {
            ::execl("/proc/self/exe", argv[0], "scopes", nullptr);
        }
        std::exit(0);
    }
    ::waitpid(child, nullptr, 0);
    SAMPLE_TRACE_BOOKMARK("in %s", "parent");
}

void plugins(const char* path) {
    for (int i = 0; i < 20; ++i) {
        void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        auto* const run = reinterpret_cast<void (*)()>(::dlsym(library, "say"));
        if (run == nullptr) {
            std::exit(1);
        }
        run();
        ::dlclose(library);
        SAMPLE_TRACE_ZONE("without it");
    }
}

std::atomic<std::uint64_t> g_handled{0};

/// Zones in a handler that interrupts zones, so often at least and for a second of CPU time.
void signals() {
    constexpr std::uint64_t kEnough = 2'000;
    static constexpr itimerspec kSoon{{0, 0}, {0, 100'000}};
    struct sigaction action {};
    action.sa_handler = [](int) {
        SAMPLE_TRACE_ZONE("handler");
        { SAMPLE_TRACE_ZONE("in handler"); }
        g_handled.fetch_add(1);
    };
    ::sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer{};
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    std::uint64_t rounds = 0;
    std::uint64_t handled = g_handled.load() + 1;
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC;
    while (g_handled.load() < kEnough || std::clock() < end) {
        // Not by the handler: its return may take longer than that.
        if (const std::uint64_t now = g_handled.load(); now != handled) {
            handled = now;
            ::timer_settime(timer, 0, &kSoon, nullptr);
        }
        for (int i = 0; i < 20; ++i, ++rounds) {
            SAMPLE_TRACE_ZONE("interrupted");
            SAMPLE_TRACE_ZONE("inside");
        }
    }
    ::timer_delete(timer);
    std::printf("rounds=%llu handled=%llu\n", static_cast<unsigned long long>(rounds),
                static_cast<unsigned long long>(g_handled.load()));
}

/// A handler that interrupts what the program says and forks; the child goes on with it.
void forks_in_handler() {
    static volatile sig_atomic_t children = 0;
    static volatile sig_atomic_t is_child = 0;
    static volatile sig_atomic_t harmed = 0;
    static timer_t timer{};
    // Once: where a fork takes longer than that, the next signal would be there before anything
    // else is done.
    static constexpr itimerspec kSoon{{0, 0}, {0, 300'000}};
    struct sigaction action {};
    action.sa_handler = [](int) {
        const pid_t child = ::fork();
        if (child == 0) {
            is_child = 1;
            return;
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        harmed = status == 0 ? harmed : status;
        children = children + 1;
        ::timer_settime(timer, 0, &kSoon, nullptr);
    };
    ::sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    ::timer_create(CLOCK_MONOTONIC, &event, &timer);
    ::timer_settime(timer, 0, &kSoon, nullptr);
    constexpr int kChildren = 200;
    while (children < kChildren && is_child == 0) {
        SAMPLE_TRACE_BOOKMARK("%d of many: %s", kChildren, "a text that takes a while to copy");
    }
    if (is_child != 0) {
        { SAMPLE_TRACE_ZONE("child"); }
        ::_exit(0);
    }
    ::timer_delete(timer);
    std::printf("harmed=%d\n", static_cast<int>(harmed));
}

/// More than there is room for, of which the collector hears no more than one zone before a byte
/// comes in `done`.
void flood(int done) {
    constexpr std::uint64_t kRounds = 2'000'000;
    SAMPLE_TRACE_COUNTER(rounds, "rounds", INTEGER);
    const auto speak = [] {
        for (std::uint64_t round = 0; round < kRounds; ++round) {
            SAMPLE_TRACE_ZONE("outer");
            SAMPLE_TRACE_ZONE("inner");
            if (round % 8 == 0) {
                SAMPLE_TRACE_INCREMENT(rounds);
            }
        }
    };
    std::thread other{speak};
    speak();
    other.join();
    if (write(done, "", 1) != 1) {
        std::perror("write");
    }
    std::printf("zones=%llu others=%llu\n", 4 * static_cast<unsigned long long>(kRounds),
                2 * static_cast<unsigned long long>(kRounds) / 8);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "";
    if (way == "scopes") {
        scopes();
    } else if (way == "threads") {
        threads();
    } else if (way == "fork" || way == "exec") {
        forks(argv, way == "exec");
    } else if (way == "plugins" && argc > 2) {
        plugins(argv[2]);
    } else if (way == "signals") {
        signals();
    } else if (way == "forks in handler") {
        forks_in_handler();
    } else if (way == "flood" && argc > 2) {
        flood(std::atoi(argv[2]));
    } else {
        return 2;
    }
}

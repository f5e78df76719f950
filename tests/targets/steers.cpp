// Steers its own profiler by sample/profiler.hpp, and prints what came of it, KEY=VALUE a line.
//
// usage: steers data FILE [COMMAND]
//                              work, unsampled work, COMMAND, and the data so far into FILE
//        steers switch N       N times start and stop, with four busy threads and queued signals
//        steers share COMMAND  two share the session, COMMAND, and the data so far
//        steers fork           a child steers its own session, too
//        steers load AGENT [handled|blocked]
//                              brings the agent into itself; then works, also in new threads;
//                              SIGURG is handled, or blocked, before
//        steers unsampled      asks for samples of a session that may take none
//        steers plain          steers, and prints nothing of it
#include "sample/profiler.hpp"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using sample::profiler::Profiler;
using sample::profiler::Result;
using sample::profiler::Sampling;
using sample::profiler::State;

volatile unsigned g_sink;
std::atomic<bool> g_stop{false};
std::atomic<unsigned> g_signals{0};

void tell(const char* key, unsigned long value) {
    std::printf("%s=%lu\n", key, value);
}
void tell(const char* key, Result result) {
    tell(key, static_cast<unsigned long>(result));
}

[[gnu::noinline]] void work(unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) {
        g_sink = g_sink + i * i;
    }
}
constexpr unsigned kRounds = 100'000'000;

[[gnu::noinline]] void seen_work() {
    work(kRounds);
    g_sink = g_sink + 1;
}
[[gnu::noinline]] void hidden_work() {
    work(kRounds);
    g_sink = g_sink + 2;
}
[[gnu::noinline]] void thread_work() {
    work(kRounds);
    g_sink = g_sink + 3;
}

unsigned long open_descriptors() {
    unsigned long count = 0;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (::readdir(folder) != nullptr) {
        ++count;
    }
    ::closedir(folder);
    return count;
}

unsigned long mappings() {
    std::ifstream maps{"/proc/self/maps"};
    unsigned long count = 0;
    for (std::string line; std::getline(maps, line);) {
        ++count;
    }
    return count;
}

/// Waits until `thread`, which is busy, has had so much more CPU time.
void use_up(std::thread& thread, std::chrono::nanoseconds more) {
    clockid_t clock{};
    ::pthread_getcpuclockid(thread.native_handle(), &clock);
    const auto spent = [clock] {
        timespec now{};
        ::clock_gettime(clock, &now);
        return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
    };
    const auto end = spent() + more;
    while (spent() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

int data(const char* file, const char* command) {
    Profiler profiler;
    seen_work();
    tell("stop", profiler.stop());
    hidden_work();
    tell("command", static_cast<unsigned long>(std::system(command)));
    profiler.on_new_data([&](const sample::profiler::Data& got) {
        std::ofstream{file, std::ios::binary} << got.json;
        tell("is_own", got.pid == ::getpid() && got.name == "steers" ? 1 : 0);
    });
    tell("data", profiler.request_data());
    return 0;
}

/// Starts and stops N times; a signal that is queued comes for each.
int switch_often(unsigned times) {
    struct sigaction action {};
    action.sa_handler = [](int) { g_signals.fetch_add(1); };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGRTMIN, &action, nullptr);
    constexpr std::size_t kThreads = 4;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([] {
            while (!g_stop) {
                work(100'000);
            }
        });
    }
    Profiler profiler;
    // What is made once, with a thread's first samples, is there.
    {
        const Sampling once{profiler, 10'000};
        for (std::thread& thread : threads) {
            use_up(thread, std::chrono::milliseconds{20});
        }
    }
    const unsigned long descriptors = open_descriptors();
    const unsigned long maps = mappings();
    unsigned done = 0;
    for (unsigned i = 0; i < times; ++i) {
        const Sampling sampling{profiler, i % 2 == 0 ? 10'000U : 1'000U};
        ::pthread_kill(threads[i % threads.size()].native_handle(), SIGRTMIN);
        State state{};
        done += sampling.result() == Result::ok && profiler.status(state) == Result::ok &&
                        state.is_sampling == 1
                    ? 1
                    : 0;
    }
    State state{};
    profiler.status(state);
    tell("still_sampling", state.is_sampling);
    tell("done", done);
    tell("new_descriptors", open_descriptors() - descriptors);
    tell("new_mappings", mappings() - maps);
    g_stop = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    tell("signals", g_signals);
    return 0;
}

/// Two who share the session, call by call.
int share(const char* command) {
    Profiler first;
    Profiler second;
    State state{};
    const auto tell_state = [&](const char* key, Profiler& profiler) {
        tell(key, profiler.status(state));
        tell("  samples", state.is_sampling);
        tell("  hz", state.frequency_hz);
        tell("  owns", state.is_owner);
    };
    tell("first open", first.open());
    tell("second open", second.open());
    tell("second start 2000", second.start(2000));
    tell("second stop", second.stop());
    tell_state("second status", second);
    tell("second start 1000", second.start(1000));
    tell("first start 2000", first.start(2000));
    tell_state("first status", first);
    seen_work();
    tell("first stop", first.stop());
    tell("second resume", second.resume());
    tell_state("second status", second);
    tell("first close", first.close());
    tell_state("second status", second);
    tell("second start 500", second.start(500));
    tell("second stop", second.stop());
    tell("second close", second.close());
    tell("command", static_cast<unsigned long>(std::system(command)));
    sample::profiler::Data got;
    tell("data", first.request_data(got));
    tell("is_kept", got.json.find("seen_work") != std::string::npos ? 1 : 0);
    return 0;
}

int fork_and_steer() {
    Profiler profiler;
    tell("before", profiler.start(10'000));
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        const Result stopped = profiler.stop();
        const Result started = profiler.start(5000);
        seen_work();
        ::_exit(stopped == Result::ok && started == Result::ok ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    tell("child", static_cast<unsigned long>(status));
    tell("after", profiler.stop());
    return 0;
}

void use_signal(const std::string& way) {
    if (way == "handled") {
        std::signal(SIGURG, [](int) {});
    } else if (way == "blocked") {
        sigset_t urgent;
        sigemptyset(&urgent);
        sigaddset(&urgent, SIGURG);
        ::pthread_sigmask(SIG_BLOCK, &urgent, nullptr);
    }
}

/// More than any stack of the agent's.
constexpr std::size_t kHandlerBytes = std::size_t{128} * 1024;

void use_alternate_stack(int /*signal*/) {
    volatile char room[kHandlerBytes];
    for (std::size_t at = 0; at < sizeof room; at += 512) {
        room[at] = 1;
    }
    g_signals.fetch_add(room[0] != 0 ? 1 : 0);
}

bool has_alternate_stack(const char* memory) {
    stack_t now{};
    ::sigaltstack(nullptr, &now);
    return now.ss_sp == memory;
}

/// A child of a thread that the agent knows nothing of has the thread's alternate stack.
int fork_in_thread() {
    int status = -1;
    std::thread{[&] {
        static char memory[2 * kHandlerBytes];
        const stack_t alternate{memory, 0, sizeof memory};
        ::sigaltstack(&alternate, nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(has_alternate_stack(memory) ? 0 : 1);
        }
        ::waitpid(child, &status, 0);
    }}.join();
    return status;
}

int load(const char* agent, const std::string& way) {
    use_signal(way);
    static char memory[2 * kHandlerBytes];
    const stack_t alternate{memory, 0, sizeof memory};
    ::sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_handler = use_alternate_stack;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(SIGUSR1, &action, nullptr);
    std::thread early{[] { thread_work(); }};
    tell("load", sample::profiler::load_agent(agent));
    tell("again", sample::profiler::load_agent(agent));
    std::thread late{[] { thread_work(); }};
    seen_work();
    early.join();
    late.join();
    Profiler profiler;
    State state{};
    tell("status", profiler.status(state));
    tell("stop", profiler.stop());
    tell("start", profiler.start(10'000));
    seen_work();
    tell("same_stack", has_alternate_stack(memory) && fork_in_thread() == 0 ? 1 : 0);
    ::raise(SIGUSR1);
    tell("handled", g_signals.load());
    return 0;
}

int unsampled() {
    Profiler profiler;
    State state{};
    tell("status", profiler.status(state));
    tell("samples", state.is_sampling);
    tell("hz", state.frequency_hz);
    tell("start", profiler.start());
    tell("start of the null handle", static_cast<Result>(sample_profiling_start(nullptr, 0)));
    tell("stop", profiler.stop());
    tell("frequency", profiler.set_frequency(500));
    std::printf("problem=%s\n", profiler.problem());
    return 0;
}

int plain() {
    Profiler profiler;
    sample::profiler::Data got;
    for (int i = 0; i < 3; ++i) {
        const Sampling sampling{profiler, 10'000};
        (void)profiler.pause();
        (void)profiler.resume();
        (void)profiler.request_data(got);
    }
    std::puts("done");
    return 3;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const char* const word = argc > 2 ? argv[2] : "";
    return mode == "data"        ? data(word, argc > 3 ? argv[3] : "true")
           : mode == "switch"    ? switch_often(static_cast<unsigned>(std::atoi(word)))
           : mode == "share"     ? share(word)
           : mode == "fork"      ? fork_and_steer()
           : mode == "load"      ? load(word, argc > 3 ? argv[3] : "")
           : mode == "plain"     ? plain()
           : mode == "unsampled" ? unsampled()
                                 : 2;
}

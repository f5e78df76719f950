// What the target programs share: clocks, a unit of work that is nothing but CPU, budgets, and the
// way a target tells its truth: `key=value` lines on stdout.
//
// Rules: no allocation and no system call inside a unit of work, so that what a target says about
// its time is true. Functions marked TARGET_KEEP stay functions of their own under -O2: neither
// inlined, nor cloned, nor folded into an identical one.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#ifdef __clang__
#define TARGET_KEEP [[gnu::noinline]]
#else
#define TARGET_KEEP [[gnu::noipa]]
#endif

namespace targets {

inline std::uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t wall_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

inline std::uint64_t thread_cpu_ns() {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Until then by CLOCK_MONOTONIC, whatever signals come.
inline void sleep_until(std::uint64_t moment_ns) {
    const timespec until{static_cast<time_t>(moment_ns / 1'000'000'000U),
                         static_cast<long>(moment_ns % 1'000'000'000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

/// User and system time of this process so far, by getrusage.
inline std::uint64_t process_cpu_us() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000U +
           static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// One unit of work: about half a microsecond of dependent arithmetic. Inlined on purpose, so that
/// the function that works is the leaf.
[[gnu::always_inline]] inline std::uint64_t work_unit(std::uint64_t state) {
    for (int step = 0; step < 256; ++step) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
    }
    return state;
}

/// Keeps a result alive without storing it anywhere.
[[gnu::always_inline]] inline void consume(std::uint64_t value) {
    asm volatile("" : : "r"(value) : "memory");
}

/// Works until this thread has used `cpu_ns` more nanoseconds of CPU time. One clock read in about
/// fifty microseconds.
TARGET_KEEP inline void burn(std::uint64_t cpu_ns) {
    const std::uint64_t end = thread_cpu_ns() + cpu_ns;
    std::uint64_t state = 88172645463325252U;
    while (thread_cpu_ns() < end) {
        for (int unit = 0; unit < 100; ++unit) {
            state = work_unit(state);
        }
        consume(state);
    }
}

/// Until the process's first thread has left it: its part of /proc then has no program any more.
inline void await_first_threads_end() {
    char first = 0;
    while (readlink("/proc/self/exe", &first, 1) == 1) {
        sched_yield();
    }
}

inline void tell(const char* key, std::uint64_t value) {
    std::printf("%s=%llu\n", key, static_cast<unsigned long long>(value));
}

inline std::uint64_t seconds_to_ns(const char* text) {
    return static_cast<std::uint64_t>(std::strtod(text, nullptr) * 1e9);
}

inline unsigned long number(const char* text) {
    return std::strtoul(text, nullptr, 10);
}

/// How long to work: seconds of this thread's CPU time, or exactly so many rounds, so that the same
/// work can be timed under different profilers.
struct Budget {
    std::uint64_t cpu_ns = 0;
    std::uint64_t rounds = 0;  ///< 0: by cpu_ns.

    /// "SECONDS" or "--rounds N".
    static Budget parse(int argc, char** argv) {
        if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
            return Budget{0, number(argv[2])};
        }
        return Budget{seconds_to_ns(argc > 1 ? argv[1] : "1"), 0};
    }
};

/// Counts rounds against a Budget; looks at the clock once in 64 rounds.
class Rounds {
public:
    explicit Rounds(Budget budget) : budget_{budget} {}

    /// True while there is another round to do.
    bool next() {
        const bool more = budget_.rounds > 0 ? done_ < budget_.rounds
                                             : done_ % 64 != 0 || cpu_ns() < budget_.cpu_ns;
        done_ += more ? 1 : 0;
        return more;
    }

    [[nodiscard]] std::uint64_t cpu_ns() const { return thread_cpu_ns() - cpu_start_; }

    /// Says what was done and what it took: the truth every budgeted target tells.
    void tell_stats() const {
        tell("work_wall_ns", wall_ns() - wall_start_);
        tell("work_cpu_ns", cpu_ns());
        tell("process_cpu_us", process_cpu_us());
        tell("rounds", done_);
        tell("end_ns", wall_ns());
    }

private:
    Budget budget_;
    std::uint64_t done_ = 0;
    std::uint64_t wall_start_ = wall_ns();
    std::uint64_t cpu_start_ = thread_cpu_ns();
};

/// "usage: NAME WORDS" on stderr, and 2.
inline int usage(const char* words) {
    std::fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, words);
    return 2;
}

}  // namespace targets

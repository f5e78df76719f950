// A thread that works and sleeps in turn.
//
//     sleepy WORK_MS SLEEP_MS SECONDS
//
// Stats: the thread "worker" works by the wall clock in busy_part() and sleeps in idle_part(), each
// about so many milliseconds a turn (half as many to half as many more, at random). `busy_ns=` is
// what the one used of the CPU, `idle_ns=` what the other did, and how long the thread was asleep
// in it; `delayed_ns=` how long it could have run and had no processor: next to nothing on an idle
// machine. `stolen_ns=` is what is missing of the time while it worked: the hypervisor took it.
// `cpu_ns=` is what the thread used of the CPU, `life_ns=` how long it took from being made to
// being joined. A sleep is one clock_nanosleep to an absolute time. The main thread only waits.
// Source: Linux, Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

namespace {

struct Plan {
    std::uint64_t work_ns = 0;
    std::uint64_t sleep_ns = 0;
    std::uint64_t wall_ns = 0;
};

struct Stats {
    std::uint64_t busy_ns = 0;
    std::uint64_t idle_ns = 0;
    std::uint64_t stolen_ns = 0;
    std::uint64_t delayed_ns = 0;
    std::uint64_t cpu_ns = 0;
};

/// The calling thread's time.
class Clocks {
public:
    struct Reading {
        std::uint64_t wall_ns = 0;
        std::uint64_t cpu_ns = 0;
        std::uint64_t delayed_ns = 0;  ///< It has waited for a processor.

        /// Neither used nor waited for.
        [[nodiscard]] std::uint64_t gone_ns() const { return wall_ns - cpu_ns - delayed_ns; }
    };

    Clocks() {
        const std::string path = "/proc/self/task/" + std::to_string(gettid()) + "/schedstat";
        file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    }

    /// All at one moment: without a delay between the one and the other.
    [[nodiscard]] Reading read() const {
        for (std::uint64_t before = delayed_ns();;) {
            Reading now{targets::wall_ns(), targets::thread_cpu_ns(), delayed_ns()};
            if (now.delayed_ns == before) {
                return now;
            }
            before = now.delayed_ns;
        }
    }

private:
    [[nodiscard]] std::uint64_t delayed_ns() const {
        std::array<char, 128> text{};
        unsigned long long delayed_ns = 0;
        if (pread(file_, text.data(), text.size() - 1, 0) <= 0 ||
            std::sscanf(text.data(), "%*u %llu", &delayed_ns) != 1) {
            std::perror("schedstat");
            std::exit(1);
        }
        return delayed_ns;
    }

    int file_ = -1;
};

std::uint64_t about(std::uint64_t ns, std::uint64_t& state) {
    state = targets::work_unit(state);
    return ns / 2 + (state >> 33U) % (ns + 1);
}

}  // namespace

TARGET_KEEP void busy_part(std::uint64_t until_ns) {
    std::uint64_t state = 88172645463325252U;
    while (targets::wall_ns() < until_ns) {
        for (int unit = 0; unit < 10; ++unit) {
            state = targets::work_unit(state);
        }
        targets::consume(state);
    }
}

TARGET_KEEP void idle_part(std::uint64_t until_ns) {
    targets::sleep_until(until_ns);
}

/// What a part of so long used of the CPU.
static std::uint64_t cpu_ns_of(void (*part)(std::uint64_t until_ns), std::uint64_t wall_ns) {
    const std::uint64_t before_ns = targets::thread_cpu_ns();
    part(targets::wall_ns() + wall_ns);
    return targets::thread_cpu_ns() - before_ns;
}

static void live(Plan plan, Stats& stats) {
    pthread_setname_np(pthread_self(), "worker");
    std::uint64_t state = 88172645463325252U;
    const Clocks clocks;
    const Clocks::Reading first = clocks.read();
    Clocks::Reading last = first;
    while (last.wall_ns < first.wall_ns + plan.wall_ns) {
        stats.busy_ns += cpu_ns_of(busy_part, about(plan.work_ns, state));
        const Clocks::Reading between = clocks.read();
        stats.idle_ns += cpu_ns_of(idle_part, about(plan.sleep_ns, state));
        const Clocks::Reading after = clocks.read();
        stats.stolen_ns += between.gone_ns() - last.gone_ns();
        stats.idle_ns += after.gone_ns() - between.gone_ns();
        last = after;
    }
    stats.delayed_ns = last.delayed_ns - first.delayed_ns;
    stats.cpu_ns = targets::thread_cpu_ns();
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("WORK_MS SLEEP_MS SECONDS");
    }
    const Plan plan{targets::seconds_to_ns(argv[1]) / 1000, targets::seconds_to_ns(argv[2]) / 1000,
                    targets::seconds_to_ns(argv[3])};
    Stats stats;
    const std::uint64_t begin_ns = targets::wall_ns();
    std::thread{live, plan, std::ref(stats)}.join();
    targets::tell("life_ns", targets::wall_ns() - begin_ns);
    targets::tell("busy_ns", stats.busy_ns);
    targets::tell("idle_ns", stats.idle_ns);
    targets::tell("stolen_ns", stats.stolen_ns);
    targets::tell("delayed_ns", stats.delayed_ns);
    targets::tell("cpu_ns", stats.cpu_ns);
}

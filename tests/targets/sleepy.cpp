// A thread that works and sleeps in turn.
//
//     sleepy WORK_MS SLEEP_MS SECONDS
//
// Stats: the thread "worker" works by the wall clock in busy_part() and sleeps in idle_part(), each
// about so many milliseconds a turn (half as many to half as many more, at random). `busy_ns=` is
// what the one used of the CPU, `idle_ns=` what the other took by the wall clock without the time
// in which the thread could have run and had no processor, which is `delayed_ns=` in all: next to
// nothing on an idle machine. `cpu_ns=` is what the thread used of the CPU, `life_ns=` how long it
// took from being made to being joined. A sleep is one clock_nanosleep to an absolute time. The
// main thread only waits. Source: Linux, Documentation/scheduler/sched-stats.rst,
// /proc/PID/schedstat.
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
    std::uint64_t delayed_ns = 0;
    std::uint64_t cpu_ns = 0;
};

/// How long the calling thread has waited for a processor.
class Delays {
public:
    Delays() {
        const std::string path = "/proc/self/task/" + std::to_string(gettid()) + "/schedstat";
        file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    }

    [[nodiscard]] std::uint64_t ns() const {
        std::array<char, 128> text{};
        unsigned long long delayed_ns = 0;
        if (pread(file_, text.data(), text.size() - 1, 0) <= 0 ||
            std::sscanf(text.data(), "%*u %llu", &delayed_ns) != 1) {
            std::perror("schedstat");
            std::exit(1);
        }
        return delayed_ns;
    }

private:
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

static void live(Plan plan, Stats& stats) {
    pthread_setname_np(pthread_self(), "worker");
    std::uint64_t state = 88172645463325252U;
    const Delays delays;
    const std::uint64_t delayed_before_ns = delays.ns();
    const std::uint64_t end_ns = targets::wall_ns() + plan.wall_ns;
    while (targets::wall_ns() < end_ns) {
        const std::uint64_t used_ns = targets::thread_cpu_ns();
        busy_part(targets::wall_ns() + about(plan.work_ns, state));
        stats.busy_ns += targets::thread_cpu_ns() - used_ns;
        // A delay between two clocks is none of the sleep's: it may make it longer, never shorter.
        const std::uint64_t began_ns = targets::wall_ns();
        const std::uint64_t delayed_ns = delays.ns();
        idle_part(began_ns + about(plan.sleep_ns, state));
        const std::uint64_t delayed_in_it_ns = delays.ns() - delayed_ns;
        stats.idle_ns += targets::wall_ns() - began_ns - delayed_in_it_ns;
    }
    stats.delayed_ns = delays.ns() - delayed_before_ns;
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
    targets::tell("delayed_ns", stats.delayed_ns);
    targets::tell("cpu_ns", stats.cpu_ns);
}

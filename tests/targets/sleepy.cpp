// A thread that works and sleeps in turn.
//
//     sleepy WORK_MS SLEEP_MS SECONDS
//
// Truth: the thread "sleepy" works by the wall clock in busy_part() and sleeps in idle_part(), each
// about so many milliseconds a turn (half as many to half as many more, at random); `busy_wall_ns=`
// and `idle_wall_ns=` are what each took by the wall clock, `busy_cpu_ns=` what the thread used of
// the CPU. A sleep is one clock_nanosleep to an absolute time. The main thread only waits.
#include "work.h"

#include <pthread.h>

#include <functional>
#include <thread>

namespace {

struct Plan {
    std::uint64_t work_ns = 0;
    std::uint64_t sleep_ns = 0;
    std::uint64_t wall_ns = 0;
};

struct Truth {
    std::uint64_t busy_ns = 0;
    std::uint64_t idle_ns = 0;
    std::uint64_t cpu_ns = 0;
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
    const timespec until{static_cast<time_t>(until_ns / 1'000'000'000U),
                         static_cast<long>(until_ns % 1'000'000'000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

static void live(Plan plan, Truth& truth) {
    pthread_setname_np(pthread_self(), "sleepy");
    std::uint64_t state = 88172645463325252U;
    const std::uint64_t end = targets::wall_ns() + plan.wall_ns;
    std::uint64_t now = targets::wall_ns();
    while (now < end) {
        busy_part(now + about(plan.work_ns, state));
        const std::uint64_t between = targets::wall_ns();
        idle_part(between + about(plan.sleep_ns, state));
        const std::uint64_t after = targets::wall_ns();
        truth.busy_ns += between - now;
        truth.idle_ns += after - between;
        now = after;
    }
    truth.cpu_ns = targets::thread_cpu_ns();
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("WORK_MS SLEEP_MS SECONDS");
    }
    const Plan plan{targets::seconds_to_ns(argv[1]) / 1000, targets::seconds_to_ns(argv[2]) / 1000,
                    targets::seconds_to_ns(argv[3])};
    Truth truth;
    std::thread{live, plan, std::ref(truth)}.join();
    targets::tell("busy_wall_ns", truth.busy_ns);
    targets::tell("idle_wall_ns", truth.idle_ns);
    targets::tell("busy_cpu_ns", truth.cpu_ns);
}

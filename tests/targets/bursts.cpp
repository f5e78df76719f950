// A thread that sleeps after each piece of work, of which one in so many is long. Each has two
// equal halves, in functions of their own.
//
//     bursts SECONDS ONE_IN LONG_US
//
// SECONDS: of CPU time. Short ones take some 15 µs. Stats: `first_ns=` and `second_ns=`, the
// halves' time by the thread's own clock.
#include "work.h"

namespace {

constexpr std::uint64_t kShortNs = 15'000;

/// Units of work that take so long, by a try.
std::uint64_t units_of(std::uint64_t ns) {
    constexpr std::uint64_t kTried = 20'000;
    std::uint64_t state = 1;
    const std::uint64_t before = targets::thread_cpu_ns();
    for (std::uint64_t unit = 0; unit < kTried; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
    return ns * kTried / (targets::thread_cpu_ns() - before);
}

[[gnu::always_inline]] inline std::uint64_t work(std::uint64_t state, std::uint64_t units) {
    for (std::uint64_t unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

}  // namespace

TARGET_KEEP std::uint64_t first_half(std::uint64_t state, std::uint64_t units) {
    return work(state ^ 1U, units);
}
TARGET_KEEP std::uint64_t second_half(std::uint64_t state, std::uint64_t units) {
    return work(state ^ 2U, units);
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("SECONDS ONE_IN LONG_US");
    }
    const std::uint64_t long_units = units_of(targets::number(argv[3]) * 1000 / 2);
    const std::uint64_t short_units = units_of(kShortNs / 2);
    const std::uint64_t one_in = targets::number(argv[2]);
    const std::uint64_t end = targets::thread_cpu_ns() + targets::seconds_to_ns(argv[1]);
    std::uint64_t state = 88172645463325252U;
    std::uint64_t first_ns = 0;
    std::uint64_t second_ns = 0;
    for (std::uint64_t begin = targets::thread_cpu_ns(); begin < end;
         begin = targets::thread_cpu_ns()) {
        const std::uint64_t units = (state >> 33U) % one_in == 0 ? long_units : short_units;
        state = first_half(state, units);
        const std::uint64_t middle = targets::thread_cpu_ns();
        state = second_half(state, units);
        first_ns += middle - begin;
        second_ns += targets::thread_cpu_ns() - middle;
        const timespec pause{0, static_cast<long>(20'000 + (state >> 40U) % 40'000)};
        nanosleep(&pause, nullptr);
    }
    targets::tell("first_ns", first_ns);
    targets::tell("second_ns", second_ns);
}

// A recursion far deeper than a profiler keeps, with the work at its bottom.
//
//     recursion DEPTH SECONDS | DEPTH --rounds N
//
// Stats: main calls descend, which calls itself DEPTH times; what it does but for going all the way
// down and up again, each round (about 10 ms), is in bottom, below it: `bottom_cpu_ns=` of
// `work_cpu_ns=`. `depth=` says how deep it went.
#include "work.h"

std::uint64_t g_bottom_cpu_ns = 0;

TARGET_KEEP std::uint64_t bottom(std::uint64_t state) {
    const std::uint64_t start = targets::thread_cpu_ns();
    for (int unit = 0; unit < 20'000; ++unit) {
        state = targets::work_unit(state);
    }
    g_bottom_cpu_ns += targets::thread_cpu_ns() - start;
    return state;
}

TARGET_KEEP std::uint64_t descend(std::uint64_t state, unsigned long depth) {
    return depth == 0 ? bottom(state) : descend(state, depth - 1) + 1;
}

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("DEPTH SECONDS | DEPTH --rounds N");
    }
    const unsigned long depth = targets::number(argv[1]);
    const targets::Budget budget = targets::Budget::parse(argc - 1, argv + 1);
    const std::uint64_t start = targets::thread_cpu_ns();
    std::uint64_t state = 88172645463325252U;
    std::uint64_t rounds = 0;
    while (budget.rounds > 0 ? rounds < budget.rounds
                             : targets::thread_cpu_ns() - start < budget.cpu_ns) {
        state = descend(state, depth);
        ++rounds;
    }
    targets::consume(state);
    targets::tell("work_cpu_ns", targets::thread_cpu_ns() - start);
    targets::tell("bottom_cpu_ns", g_bottom_cpu_ns);
    targets::tell("depth", depth);
    targets::tell("rounds", rounds);
}

// Three leaf functions that do exactly 50, 30 and 20 per cent of the work.
//
//     three_leaves SECONDS | --rounds N
//
// Stats: in every round leaf_fifty does 5n units of one kernel, leaf_thirty 3n, leaf_twenty 2n.
// n differs from round to round, so that no sampling period can fall into step with the rounds. The
// three copies of the kernel are identical and equally aligned. Each leaf is reached by a path of
// its own below main; one path recurses. The time stamp counter, read outside the kernels, gives
// the measured shares as a check (`*_tsc`): no system call but one clock read in 64 rounds.
#include "work.h"

#include <x86intrin.h>

using targets::consume;
using targets::work_unit;

[[gnu::always_inline]] inline std::uint64_t kernel(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = work_unit(state);
    }
    return state;
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t leaf_fifty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 50U, units);
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t leaf_thirty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 30U, units);
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t leaf_twenty(std::uint64_t state, unsigned units) {
    return kernel(state ^ 20U, units);
}

TARGET_KEEP std::uint64_t direct_path(std::uint64_t state, unsigned units) {
    return leaf_fifty(state, units) + 1;
}

TARGET_KEEP std::uint64_t recursive_path(std::uint64_t state, unsigned units, unsigned depth) {
    if (depth == 0) {
        return leaf_thirty(state, units) + 1;
    }
    return recursive_path(state, units, depth - 1) + 1;
}

TARGET_KEEP std::uint64_t inner_path(std::uint64_t state, unsigned units) {
    return leaf_twenty(state, units) + 1;
}

TARGET_KEEP std::uint64_t outer_path(std::uint64_t state, unsigned units) {
    return inner_path(state, units) + 1;
}

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    std::uint64_t units = 0;
    std::uint64_t tsc[3] = {};
    while (rounds.next()) {
        const auto n = static_cast<unsigned>(1 + (state >> 40U) % 64);
        const std::uint64_t t0 = __rdtsc();
        state = direct_path(state, 5 * n);
        const std::uint64_t t1 = __rdtsc();
        state = recursive_path(state, 3 * n, 4);
        const std::uint64_t t2 = __rdtsc();
        state = outer_path(state, 2 * n);
        const std::uint64_t t3 = __rdtsc();
        tsc[0] += t1 - t0;
        tsc[1] += t2 - t1;
        tsc[2] += t3 - t2;
        units += n;
    }
    consume(state);
    rounds.tell_stats();
    targets::tell("leaf_fifty_units", 5 * units);
    targets::tell("leaf_thirty_units", 3 * units);
    targets::tell("leaf_twenty_units", 2 * units);
    targets::tell("leaf_fifty_tsc", tsc[0]);
    targets::tell("leaf_thirty_tsc", tsc[1]);
    targets::tell("leaf_twenty_tsc", tsc[2]);
}

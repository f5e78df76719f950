// CPU-bound work at the bottom of a stack of 34 frames, each a function of its own.
//
//     deep SECONDS | --rounds N
//
// Stats: 30 levels, then main, two frames of libc, and _start. All work is in level<0>; the chain
// is entered anew for each round (about 100 µs), so every level but the lowest has a total of 100 %
// and no self time.
#include "work.h"

template <unsigned N>
TARGET_KEEP std::uint64_t level(std::uint64_t state) {
    return level<N - 1>(state) + 1;
}

template <>
TARGET_KEEP std::uint64_t level<0>(std::uint64_t state) {
    for (int unit = 0; unit < 200; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        state = level<29>(state);
    }
    targets::consume(state);
    rounds.tell_stats();
}

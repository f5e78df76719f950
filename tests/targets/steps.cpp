// Three steps that do the same work; in the program's next versions, steps_slower and
// steps_little_slower, the second does twice and 1.1 times as much.
//
//     steps SECONDS | --rounds N
//
// Stats: step_one and step_three do n units of one kernel in every round, step_two n times
// SAMPLE_TENTHS_OF_STEP_TWO / 10. n differs from round to round, so that no sampling period can
// fall into step with the rounds.
#include "work.h"

[[gnu::always_inline]] inline std::uint64_t kernel(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t step_one(std::uint64_t state, unsigned units) {
    return kernel(state ^ 1U, units);
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t step_two(std::uint64_t state, unsigned units) {
    return kernel(state ^ 2U, units);
}

TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t step_three(std::uint64_t state, unsigned units) {
    return kernel(state ^ 3U, units);
}

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        const auto tens = static_cast<unsigned>(1 + (state >> 40U) % 8);
        state = step_one(state, 10 * tens);
        state = step_two(state, SAMPLE_TENTHS_OF_STEP_TWO * tens);
        state = step_three(state, 10 * tens);
    }
    targets::consume(state);
    rounds.tell_stats();
    return 0;
}

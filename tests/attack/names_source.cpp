// A program whose debug information names a file that it was not made from: SAMPLE_NAMED_SOURCE.
#include "tests/targets/work.h"

// NOLINTNEXTLINE: what comes behind it is said to lie there.
#line 1 SAMPLE_NAMED_SOURCE
TARGET_KEEP std::uint64_t reads_secrets(std::uint64_t state) {
    for (unsigned unit = 0; unit < 100; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

int main() {
    targets::Rounds rounds{targets::Budget{targets::seconds_to_ns("0.4"), 0}};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        state = reads_secrets(state);
    }
    targets::consume(state);
}

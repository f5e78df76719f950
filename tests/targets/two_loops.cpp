// Two loops of one function, on lines that the tests know, of which the first does 70 % of the
// work; the second's work is a function that is always inlined.
#include "work.h"

namespace {

constexpr int kShareOfFirst = 70;
constexpr int kShareOfSecond = 30;

/// The same dependent arithmetic as the first loop's.
[[gnu::always_inline]] inline std::uint64_t inlined_work(std::uint64_t state) {
    for (int step = 0; step < 100 * kShareOfSecond; ++step) {
        state = state * 6364136223846793005U + 1442695040888963407U;  // Line: inlined loop.
    }
    return state;
}

TARGET_KEEP std::uint64_t two_loops(std::uint64_t state) {
    for (int step = 0; step < 100 * kShareOfFirst; ++step) {
        state = state * 6364136223846793005U + 1442695040888963407U;  // Line: first loop.
    }
    targets::consume(state);
    state = inlined_work(state);  // Line: second loop.
    return state;
}

}  // namespace

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        state = two_loops(state);
    }
    targets::consume(state);
    rounds.tell_stats();
    return 0;
}

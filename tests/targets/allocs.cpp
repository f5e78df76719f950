// A program that lives in malloc and free.
//
//     allocs SECONDS | --rounds N
//
// Stats: a round builds and frees a list of 1000 blocks of 16 to 4096 bytes in churn_blocks(), then
// does about as much plain work in plain_work(). So some of the time, and not all, belongs to the
// `GC` pseudo-function, below churn_blocks only; plain_work never allocates.
#include "work.h"

#include <array>

TARGET_KEEP std::uint64_t churn_blocks(std::uint64_t state) {
    std::array<void*, 1000> blocks{};
    for (void*& block : blocks) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        block = std::malloc(16 + (state >> 52U));
    }
    for (void* block : blocks) {
        std::free(block);
    }
    return state;
}

TARGET_KEEP std::uint64_t plain_work(std::uint64_t state) {
    for (int unit = 0; unit < 100; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        state = plain_work(churn_blocks(state));
    }
    targets::consume(state);
    rounds.tell_stats();
}

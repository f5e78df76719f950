// A program that lives in malloc and free.
//
//     allocs SECONDS | --rounds N
//
// Stats: a round builds and frees a list of 1000 blocks of 16 to 4096 bytes in churn_blocks(), then
// works in plain_work(), which never allocates and takes `plain_cpu_ns=` by the thread's clock. So
// some of the time, and not all, belongs to the `GC` pseudo-function, below churn_blocks only. The
// heap keeps what is freed: what pages cost differs a lot between machines.
#include "work.h"

#include <malloc.h>

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
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t state = 88172645463325252U;
    std::uint64_t plain_ns = 0;
    while (rounds.next()) {
        state = churn_blocks(state);
        const std::uint64_t before_ns = targets::thread_cpu_ns();
        state = plain_work(state);
        plain_ns += targets::thread_cpu_ns() - before_ns;
    }
    targets::consume(state);
    rounds.tell_stats();
    targets::tell("plain_cpu_ns", plain_ns);
}

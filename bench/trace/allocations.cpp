// What tracing of malloc costs: a program that allocates a million times a second, bare, with
// `--trace memory`, and under others' tools. Prints how long it took.
//
// usage: trace_allocations [ALLOCATIONS]        (default: a million)
//
// Each allocation is followed by work of about a microsecond, through a stack of some calls that
// changes; a block lives for the next hundred allocations.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

// NOLINTBEGIN(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)
namespace {

std::array<void*, 100> g_blocks{};
volatile unsigned g_sum = 0;

void work() {
    for (unsigned i = 0; i < 600; ++i) {
        g_sum = g_sum + i;
    }
}

[[gnu::noinline]] void allocate(unsigned number) {
    void*& place = g_blocks[number % g_blocks.size()];
    std::free(place);
    place = std::malloc(16 + number % 500);
    work();
}

template <unsigned kDepth>
[[gnu::noinline]] void call(unsigned number) {
    if constexpr (kDepth == 0) {
        allocate(number);
    } else if (number % 3 == 0) {
        call<kDepth - 1>(number / 3);
    } else {
        call<kDepth - 1>(number - number / 3);
    }
    asm volatile("" ::: "memory");  // no tail call
}

}  // namespace

int main(int argc, char** argv) {
    const auto count = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 1'000'000);
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < count; ++i) {
        call<8>(i);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.4f\n", took.count());
    return 0;
}
// NOLINTEND(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)

// The chain of functions. Compiled twice, with and without frame pointers; SAMPLE_BENCH_ENTRY is
// the name of the function that starts it.
#include "bench/unwind/deep_stack.h"

#include <array>
#include <utility>

namespace sample::unwind::bench {
namespace {

constexpr int kFunctions = 64;

volatile int sink = 0;

using Function = void (*)(int, Leaf, void*);
template <int N>
void step(int depth, Leaf leaf, void* data);

template <int... N>
constexpr std::array<Function, sizeof...(N)> functions_of(std::integer_sequence<int, N...> /*n*/) {
    return {&step<N>...};
}

template <int N>
[[gnu::noinline]] void step(int depth, Leaf leaf, void* data) {
    static constexpr auto kAll = functions_of(std::make_integer_sequence<int, kFunctions>{});
    std::array<char, 8 + N * 5 % 200> local{};
    asm volatile("" : : "r"(local.data()) : "memory");
    if (depth == 0) {
        leaf(data);
    } else if (N % 3 == 0) {
        // A value for each callee-saved register, so that rbp is pushed.
        const int a = sink;
        const int b = sink;
        const int c = sink;
        const int d = sink;
        const int e = sink;
        const int f = sink;
        kAll[(N + 1) % kFunctions](depth - 1, leaf, data);
        sink = a + b + c + d + e + f;
    } else {
        kAll[(N + 1) % kFunctions](depth - 1, leaf, data);
    }
    sink = local[0] + N;
}

}  // namespace

void SAMPLE_BENCH_ENTRY(int depth, Leaf leaf, void* data) {
    step<0>(depth - 1, leaf, data);
    sink = 0;
}

}  // namespace sample::unwind::bench

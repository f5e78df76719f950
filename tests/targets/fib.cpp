// Naive Fibonacci: recursion, in which a function's total must count once.
//
//     fib N [TIMES]
//
// Stats: `fib` is on the stack of every sample of the work, up to N deep, so its total equals that
// of main, not many times it. `fib=` is the value, `calls=` the number of calls.
#include "work.h"

namespace {
std::uint64_t calls = 0;
}  // namespace

TARGET_KEEP std::uint64_t fib(unsigned n) {
    ++calls;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char** argv) {
    if (argc < 2) {
        return targets::usage("N [TIMES]");
    }
    const unsigned long times = argc > 2 ? targets::number(argv[2]) : 1;
    std::uint64_t value = 0;
    for (unsigned long time = 0; time < times; ++time) {
        value = fib(static_cast<unsigned>(targets::number(argv[1])));
    }
    targets::tell("fib", value);
    targets::tell("calls", calls);
    targets::tell("process_cpu_us", targets::process_cpu_us());
}

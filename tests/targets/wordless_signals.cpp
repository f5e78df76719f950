// A program that may queue no signals, and has a handler of its own for SIGURG.
//
//     wordless_signals
//
// Stats: 0.3 s of work, during which nobody sends it one: `sent_by_nobody=0`. Then it sends itself
// some, until one has come: `own=1`. Source: setrlimit(2), RLIMIT_SIGPENDING.
#include "work.h"

#include <sys/resource.h>

#include <csignal>

namespace {

volatile int runs = 0;

void on_signal(int /*signal*/) {
    runs = runs + 1;
}

}  // namespace

int main() {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_SIGPENDING, &none);
    std::signal(SIGURG, on_signal);
    targets::burn(300'000'000);
    targets::tell("sent_by_nobody", static_cast<std::uint64_t>(runs));
    runs = 0;
    while (runs == 0) {
        std::raise(SIGURG);
    }
    targets::tell("own", static_cast<std::uint64_t>(runs));
}

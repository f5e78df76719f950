// A program that may queue no signals, and has a handler of its own for SIGURG.
//
//     wordless_signals
//
// Stats: 0.3 s of work and 0.5 s of reads, during which nobody sends it one: `sent_by_nobody=0`.
// Then it sends itself some, until one has come: `own=1`. Source: setrlimit(2), RLIMIT_SIGPENDING.
#include "work.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace {

volatile int runs = 0;

void on_signal(int /*signal*/) {
    runs = runs + 1;
}

/// Each read takes some periods at 10 kHz.
void read_zeros(std::uint64_t cpu_ns) {
    static std::array<char, std::size_t{4} << 20U> zeros;
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const std::uint64_t start = targets::thread_cpu_ns();
    while (targets::thread_cpu_ns() - start < cpu_ns &&
           read(zero, zeros.data(), zeros.size()) > 0) {
    }
    close(zero);
}

}  // namespace

int main() {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_SIGPENDING, &none);
    std::signal(SIGURG, on_signal);
    targets::burn(300'000'000);
    read_zeros(500'000'000);
    targets::tell("sent_by_nobody", static_cast<std::uint64_t>(runs));
    runs = 0;
    while (runs == 0) {
        std::raise(SIGURG);
    }
    targets::tell("own", static_cast<std::uint64_t>(runs));
}

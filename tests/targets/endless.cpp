// Works until it is told to stop.
//
//     endless [stubborn]
//
// Stats: prints `ready` once it works. SIGINT ends it with exit code 5 after a line `interrupted`;
// `stubborn` prints that line and works on, until its stdin ends (exit code 6).
#include "work.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>

namespace {

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int /*signal*/) {
    interrupts = interrupts + 1;
}

bool input_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    return poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bool stubborn = argc > 1 && std::strcmp(argv[1], "stubborn") == 0;
    std::signal(SIGINT, count_interrupt);
    std::printf("ready\n");
    std::fflush(stdout);
    for (int told = 0;;) {
        targets::burn(100'000'000);
        if (interrupts > told) {
            ++told;
            std::printf("interrupted\n");
            std::fflush(stdout);
            if (!stubborn) {
                return 5;
            }
        }
        if (stubborn && input_ended()) {
            return 6;
        }
    }
}

// Copies stdin to stdout.
//
//     echo_input [SECONDS]
//
// Stats: stdout is stdin, byte for byte, after SECONDS of CPU time. A broken pipe ends it by
// SIGPIPE, as it ends any program.
#include "work.h"

#include <unistd.h>

int main(int argc, char** argv) {
    targets::burn(targets::seconds_to_ns(argc > 1 ? argv[1] : "0.02"));
    char buffer[4096];
    for (;;) {
        const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
        if (got <= 0) {
            break;
        }
        for (ssize_t written = 0; written < got;) {
            const ssize_t put =
                write(STDOUT_FILENO, buffer + written, static_cast<std::size_t>(got - written));
            if (put < 0) {
                return 1;
            }
            written += put;
        }
    }
}

// A program that waits for any child, as shells and init systems do.
//
//     wait_any SECONDS
//
// Stats: before it starts a child, wait() says ECHILD; of its three children it meets exactly
// three, by their pids, and gets as many SIGCHLD; then ECHILD again. A helper process that a
// profiler starts on its behalf must not show.
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

volatile std::sig_atomic_t child_signals = 0;

void count_child(int /*signal*/) {
    child_signals = child_signals + 1;
}

const char* wait_outcome() {
    if (wait(nullptr) != -1) {
        return "a child";
    }
    return errno == ECHILD ? "ECHILD" : strerrordesc_np(errno);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("SECONDS");
    }
    struct sigaction action {};
    action.sa_handler = count_child;
    action.sa_flags = SA_RESTART;
    sigaction(SIGCHLD, &action, nullptr);
    std::printf("before: %s\n", wait_outcome());
    targets::burn(targets::seconds_to_ns(argv[1]));
    int strangers = 0;
    int met = 0;
    for (int child = 0; child < 3; ++child) {
        std::fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            targets::burn(2'000'000);
            _exit(child);
        }
        int status = 0;
        const pid_t found = wait(&status);
        met += found == pid && WIFEXITED(status) && WEXITSTATUS(status) == child ? 1 : 0;
        strangers += found != pid ? 1 : 0;
    }
    std::printf("met: %d\nstrangers: %d\nSIGCHLD: %d\n", met, strangers,
                static_cast<int>(child_signals));
    std::printf("after: %s\n", wait_outcome());
}

// Children that come past libc's fork, and so past its fork handlers: by the system call, by
// _Fork(3), and by clone(2) with a stack of their own, as sandboxes make them.
//
//     raw_fork
//
// Stats: each child works a little and ends by _exit or exit with a status of its own; the parent
// prints what wait gave.
#include "work.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void report(const char* how, pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%s exited %d with %d\n", how, WIFEXITED(status), WEXITSTATUS(status));
    std::fflush(stdout);
}

int cloned(void* /*unused*/) {
    targets::burn(5'000'000);
    std::exit(5);
}

}  // namespace

int main() {
    targets::burn(100'000'000);
    auto child = static_cast<pid_t>(syscall(SYS_fork));
    if (child == 0) {
        targets::burn(5'000'000);
        _exit(3);
    }
    report("fork", child);
    child = _Fork();
    if (child == 0) {
        _exit(4);
    }
    report("_Fork", child);
    alignas(16) static char stack[64 * 1024];
    child = clone(cloned, stack + sizeof stack, SIGCHLD, nullptr);
    report("clone", child);
}

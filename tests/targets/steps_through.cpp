// A program that attaches to its spinning children, and makes steps in them, as debuggers do.
//
//     steps_through N WAY
//
// WAY: the call that it waits for them by: wait, waitpid, wait4, waitid, or number (wait4 through
// syscall()).
//
// Stats: of N children each is stopped by SIGSTOP, and then after each of five steps by SIGTRAP, as
// nobody sends a signal. `wrong=` is how many stops were others: 0. Source: ptrace(2).
#include "work.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace {

/// The signal that stopped the child, the only one that there is; 0: it was not stopped.
int stop_signal(std::string_view way, pid_t child) {
    int status = 0;
    if (way == "waitid") {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WEXITED);
        return info.si_code == CLD_TRAPPED ? info.si_status : 0;
    }
    if (way == "wait") {
        wait(&status);
    } else if (way == "wait4") {
        wait4(child, &status, 0, nullptr);
    } else if (way == "number") {
        syscall(SYS_wait4, child, &status, 0, nullptr);
    } else {
        waitpid(child, &status, 0);
    }
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

std::uint64_t step_through_child(std::string_view way, unsigned long delay_us) {
    const pid_t child = fork();
    if (child == 0) {
        for (;;) {
            asm volatile("");
        }
    }
    usleep(static_cast<useconds_t>(delay_us));
    if (ptrace(PTRACE_ATTACH, child, nullptr, nullptr) != 0) {
        std::perror("steps_through");
        kill(child, SIGKILL);
        std::exit(1);
    }
    std::uint64_t wrong = stop_signal(way, child) == SIGSTOP ? 0 : 1;
    for (int step = 0; step < 5; ++step) {
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        wrong += stop_signal(way, child) == SIGTRAP ? 0 : 1;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("N WAY");
    }
    std::uint64_t wrong = 0;
    const unsigned long children = targets::number(argv[1]);
    for (unsigned long child = 0; child < children; ++child) {
        wrong += step_through_child(argv[2], 3000 + child * 50);
    }
    targets::tell("wrong", wrong);
}

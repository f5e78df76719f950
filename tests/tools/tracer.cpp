// A tracer that does nothing but be there, as gdb or `strace -f` would, attached before the
// command's first instruction and to every thread and process below it.
//
// Every signal goes on to its receiver but SIGTRAP: a debugger takes that for a breakpoint of its
// own and stops. So does a sample of a source that a traced program should not have been given.
// Source: ptrace(2), PTRACE_SEIZE.
#include "confine.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>

namespace sample::tools {
namespace {

constexpr long kFollowAll = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                            PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

void* as_data(long value) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
}

/// True if a SIGTRAP had come that no event of ours explains; it is not passed on.
bool go_on(pid_t tid, int status) {
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        ptrace(PTRACE_LISTEN, tid, nullptr, nullptr);  // the whole group is stopped
        return false;
    }
    const bool trap = event == 0 && signal == SIGTRAP;
    ptrace(PTRACE_CONT, tid, nullptr, as_data(event != 0 || trap ? 0 : signal));
    return trap;
}

[[noreturn]] void end_as(int status) {
    if (WIFSIGNALED(status)) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

[[noreturn]] void trace(pid_t command) {
    int ended_with = 0;
    unsigned long traps = 0;
    for (;;) {
        int status = 0;
        const pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == ECHILD) {
            break;
        }
        if (WIFSTOPPED(status)) {
            traps += go_on(tid, status) ? 1 : 0;
        } else if (tid == command) {
            ended_with = status;
        }
    }
    if (traps != 0) {
        std::fprintf(stderr, "confine: %lu SIGTRAPs stopped the traced command\n", traps);
        _exit(kStoppedByTrap);
    }
    end_as(ended_with);
}

}  // namespace

void run_traced(char** command) {
    std::array<int, 2> start{-1, -1};
    if (pipe2(start.data(), O_CLOEXEC) != 0) {
        give_up("no pipe");
    }
    const pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        if (read(start[0], &byte, 1) == 1) {
            execvp(command[0], command);
        }
        _exit(127);
    }
    if (child < 0 || ptrace(PTRACE_SEIZE, child, nullptr, as_data(kFollowAll)) != 0) {
        give_up("the command cannot be traced");
    }
    if (write(start[1], "", 1) != 1) {
        give_up("the command does not start");
    }
    close(start[0]);
    close(start[1]);
    trace(child);
}

}  // namespace sample::tools

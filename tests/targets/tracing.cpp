// A program that traces its own children, as debuggers and sandboxes do.
//
//     tracing WAY
//
// WAY:
//   traceme        the child asks for it, and works
//   traceme-exec   and becomes another program first, this one as `tracing work`
//   seize          the parent seizes the child, which works already
//   seize-exec     which then becomes another program
//   attach         the parent attaches to the child, and detaches again
//
// Stats: `stops=` is how often the child was stopped by a signal that neither of them sent: none
// does. `exit=` is how the child ended. Source: ptrace(2).
#include "work.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace {

constexpr std::uint64_t kWorkNs = 100'000'000;

[[noreturn]] void be_traced(std::string_view way, const char* self) {
    if (way.starts_with("traceme")) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    }
    raise(SIGSTOP);
    if (way.ends_with("-exec")) {
        execl(self, self, "work", nullptr);
        _exit(4);
    }
    targets::burn(kWorkNs);
    _exit(3);
}

/// The child has stopped itself; returns once it is traced, and stopped still.
void take(std::string_view way, pid_t child) {
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (way.starts_with("seize")) {
        ptrace(PTRACE_SEIZE, child, nullptr, nullptr);
        kill(child, SIGCONT);
    } else if (way == "attach") {
        ptrace(PTRACE_ATTACH, child, nullptr, nullptr);
        kill(child, SIGCONT);
    } else {
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
    }
}

bool is_expected(int signal, int event) {
    return signal == SIGSTOP || signal == SIGCONT || event != 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "traceme";
    if (way == "work") {
        targets::burn(kWorkNs);
        return 3;
    }
    const pid_t child = fork();
    if (child == 0) {
        be_traced(way, argv[0]);
    }
    take(way, child);
    std::uint64_t stops = 0;
    bool has_exec_trap = false;
    int status = 0;
    while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status);
        // Without PTRACE_O_TRACEEXEC the kernel sends a SIGTRAP after an exec.
        const bool is_exec = signal == SIGTRAP && way == "traceme-exec" && !has_exec_trap;
        has_exec_trap = has_exec_trap || is_exec;
        stops += is_exec || is_expected(signal, status >> 16) ? 0 : 1;
        const bool is_group_stop = status >> 16 == PTRACE_EVENT_STOP || signal == SIGSTOP;
        ptrace(PTRACE_CONT, child, nullptr, is_exec || is_group_stop ? 0 : signal);
    }
    targets::tell("stops", stops);
    targets::tell("exit", static_cast<std::uint64_t>(WEXITSTATUS(status)));
}

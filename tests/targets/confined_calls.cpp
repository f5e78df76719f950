// Forbids itself what a wrapper of ours might ask the kernel, and calls on.
//
//     confined_calls
//
// Its filter kills for rt_sigprocmask and getpid. Then its handlers, set before and after, run on
// alternate stacks, set before and after; it polls with a mask, by number, and execs
// `confined_calls child` with an environment of its own.
//
// Stats: it prints where its handlers ran and what poll gave, and its next image ends with 7.
#include "work.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace {

alignas(64) std::array<char, 65536> first_stack;
alignas(64) std::array<char, 65536> second_stack;

void on_signal(int /*signal*/, siginfo_t* /*info*/, void* context) {
    const auto* at = static_cast<const char*>(context);
    const bool is_first = at > first_stack.data() && at < first_stack.data() + first_stack.size();
    const bool is_second =
        at > second_stack.data() && at < second_stack.data() + second_stack.size();
    targets::tell("stack", is_first ? 1 : is_second ? 2 : 0);
}

void run_handlers(pid_t self, std::array<char, 65536>& memory) {
    syscall(SYS_tgkill, self, self, SIGUSR1);
    const stack_t stack{memory.data(), 0, memory.size()};
    targets::tell("set", sigaltstack(&stack, nullptr) == 0 ? 1 : 0);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGUSR2, &action, nullptr);
    syscall(SYS_tgkill, self, self, SIGUSR1);
    syscall(SYS_tgkill, self, self, SIGUSR2);
    stack_t now{};
    sigaltstack(nullptr, &now);
    targets::tell("same", now.ss_sp == memory.data() && now.ss_flags == 0 ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view{argv[1]} == "child") {
        return 7;
    }
    targets::burn(20'000'000);
    const pid_t self = getpid();
    signal(SIGUSR1, SIG_IGN);
    run_handlers(self, first_stack);
    sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_rt_sigprocmask},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_getpid},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    run_handlers(self, second_stack);
    const std::uint64_t mask = ~std::uint64_t{0};
    timespec brief{0, 1'000'000};
    targets::tell("poll", static_cast<std::uint64_t>(
                              syscall(SYS_ppoll, nullptr, 0, &brief, &mask, sizeof mask)));
    std::fflush(stdout);
    char child[] = "child";
    char variable[] = "A=1";
    char* words[] = {argv[0], child, nullptr};
    char* environment[] = {variable, nullptr};
    syscall(SYS_execve, argv[0], words, environment);
    return 100;
}

// A program that works, confines itself with a seccomp filter of its own, and works on.
//
//     confined FILTER WAY SECONDS [EXEC-CHILD]
//
// FILTER allows:
//   kill    a list of what this program itself needs; anything else kills the process
//   errno   the same list; anything else fails with EPERM
//   trap    the same list; anything else is a SIGSYS, counted by a handler of the program's own
//   strict  read, write, exit and sigreturn: seccomp's mode 1
//   wide    everything but ptrace
//   local   everything but socket, which kills
//   enough  what this program itself needs and what sampling does; anything else kills
// WAY: prctl, seccomp (through syscall()), raw-prctl (prctl through syscall()), or tsync (for all
// threads, one of which works beside).
//
// With `wide` and `local` it forks afterwards, and the child execs this program again as `confined
// child`, which works for 50 ms.
//
// Stats: half of the work is done in before_confinement(), half in after_confinement(). It prints
// the same and ends the same under a profiler and without one.
#include "work.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kUnitsASecond = 2'000'000;  // roughly; a fixed amount of work

std::atomic<int> traps = 0;
std::atomic<bool> done = false;

void count_trap(int /*signal*/) {
    ++traps;
}

// Not only what is called here: also what libc needs to print and to end.
constexpr unsigned kNeeded[] = {
    SYS_write,  SYS_read,       SYS_exit,    SYS_exit_group, SYS_brk,  SYS_rt_sigreturn,  SYS_futex,
    SYS_munmap, SYS_newfstatat, SYS_madvise, SYS_mprotect,   SYS_mmap, SYS_rt_sigprocmask};

sock_filter statement(unsigned code, unsigned value) {
    return {static_cast<unsigned short>(code), 0, 0, value};
}

sock_filter jump_if_equal(unsigned value, unsigned char yes, unsigned char no) {
    return {BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
}

std::vector<sock_filter> start_filter() {
    return {statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
}

/// Everything but `number` is allowed.
std::vector<sock_filter> deny(unsigned number, unsigned action) {
    auto filter = start_filter();
    filter.push_back(jump_if_equal(number, 0, 1));
    filter.push_back(statement(BPF_RET | BPF_K, action));
    filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter;
}

// The handler's calls, those of the wrappers, a thread's end, an exit.
constexpr unsigned kSampling[] = {SYS_gettid,    SYS_getpid,       SYS_clock_gettime,
                                  SYS_prctl,     SYS_kill,         SYS_rt_sigaction,
                                  SYS_getrusage, SYS_timer_delete, SYS_sigaltstack};

void allow(std::vector<sock_filter>& filter, unsigned number) {
    filter.push_back(jump_if_equal(number, 0, 1));
    filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

std::vector<sock_filter> allow_needed(unsigned otherwise, bool sampling = false) {
    auto filter = start_filter();
    for (const unsigned number : kNeeded) {
        allow(filter, number);
    }
    if (sampling) {
        for (const unsigned number : kSampling) {
            allow(filter, number);
        }
    }
    filter.push_back(statement(BPF_RET | BPF_K, otherwise));
    return filter;
}

std::vector<sock_filter> make_filter(std::string_view kind) {
    if (kind == "kill") {
        return allow_needed(SECCOMP_RET_KILL_PROCESS);
    }
    if (kind == "errno") {
        return allow_needed(SECCOMP_RET_ERRNO | EPERM);
    }
    if (kind == "trap") {
        return allow_needed(SECCOMP_RET_TRAP);
    }
    if (kind == "enough") {
        return allow_needed(SECCOMP_RET_KILL_PROCESS, true);
    }
    return kind == "wide" ? deny(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM)
                          : deny(SYS_socket, SECCOMP_RET_KILL_PROCESS);
}

long enter_strict(std::string_view way) {
    if (way == "prctl") {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    }
    return way == "raw-prctl" ? syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)
                              : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nullptr);
}

long enter(std::string_view kind, std::string_view way) {
    if (kind == "strict") {
        return enter_strict(way);
    }
    auto filter = make_filter(kind);
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (way == "prctl") {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    }
    if (way == "raw-prctl") {
        return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    }
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   way == "tsync" ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

/// No system call, so that it can be done in any confinement.
TARGET_KEEP void do_units(std::uint64_t units) {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

void say(std::string_view text) {
    if (write(1, text.data(), text.size()) < 0) {
        syscall(SYS_exit, 3);
    }
}

void start_children(const char* self) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl(self, self, "child", nullptr);
        _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", status);
    std::fflush(stdout);
    std::printf("shell %d\n", system((std::string{self} + " child").c_str()));
}

}  // namespace

TARGET_KEEP void before_confinement(std::uint64_t units) {
    do_units(units);
}

TARGET_KEEP void after_confinement(std::uint64_t units) {
    do_units(units);
}

TARGET_KEEP void confined_child() {
    targets::burn(50'000'000);
}

TARGET_KEEP void work_beside() {
    while (!done) {
        do_units(1000);
    }
}

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "child") == 0) {
        confined_child();
        std::printf("child worked\n");
        return 0;
    }
    if (argc != 4) {
        return targets::usage("FILTER WAY SECONDS, or child");
    }
    const std::string_view kind = argv[1];
    const std::string_view way = argv[2];
    const auto units =
        static_cast<std::uint64_t>(std::strtod(argv[3], nullptr) / 2 * kUnitsASecond);
    struct sigaction action {};
    action.sa_handler = count_trap;
    sigaction(SIGSYS, &action, nullptr);
    std::thread beside;
    if (way == "tsync") {
        beside = std::thread{work_beside};
    }
    before_confinement(units);
    if (enter(kind, way) != 0) {
        std::perror("confined");
        return 1;
    }
    after_confinement(units);
    if (kind == "strict") {
        say("confined and worked\n");
        syscall(SYS_exit, 0);
    }
    done = true;
    if (beside.joinable()) {
        beside.join();
    }
    std::printf("traps %d\n", traps.load());
    if (kind == "wide" || kind == "local") {
        start_children(argv[0]);
    }
    return 0;
}

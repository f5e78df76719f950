// Children made in every way that libc and the kernel have, which then do what a child does.
//
//     child_ways WAY REPEATS [without-urg]
//
// WAY: fork, _Fork, clone, __clone, shared-files (clone with CLONE_FILES); by number, through
// syscall(): fork-number, clone-number, clone3-number; raw (the system call instruction itself); or
// vfork (exec only). As a child: `child_ways child` prints a word and ends with 7.
//
// Stats: for each thing that a child can do it prints what became of the child, and once a
// difference between the repeats. With `without-urg` children send themselves no SIGURG.
#include "work.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::uint64_t kWorkNs = 300'000;

const char* self = nullptr;
alignas(16) char stack[256 * 1024];

std::string_view g_way;
int (*g_deed)() = nullptr;

char* const* own_words() {
    static char name[] = "child_ways";
    static char child[] = "child";
    static char* words[] = {name, child, nullptr};
    return words;
}

int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int exec_self() {
    execv(self, own_words());
    return 100;
}

int exec_by_number() {
    syscall(SYS_execve, self, own_words(), environ);
    return 100;
}

int exec_with_own_environment() {
    char* nothing[] = {nullptr};
    execve(self, own_words(), nothing);
    return 100;
}

int fail_to_exec() {
    execl("/nowhere", "nowhere", nullptr);
    return errno;
}

int spawn() {
    pid_t pid = 0;
    const int result = posix_spawn(&pid, self, nullptr, nullptr, own_words(), environ);
    return result == 0 ? wait_for(pid) : 100;
}

int vfork_and_exec() {
    const pid_t pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
    if (pid == 0) {
        execv(self, own_words());
        _exit(100);
    }
    return wait_for(pid);
}

int run_shell() {
    const int status = system("exit 9");  // NOLINT(cert-env33-c): what is tested
    return WEXITSTATUS(status);
}

int make_threads() {
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        std::thread{[&] {
            targets::burn(kWorkNs);
            ++sum;
        }}.join();
    }
    return sum;
}

int load_and_unload() {
    void* library = dlopen("libdl.so.2", RTLD_NOW);
    return library != nullptr && dlclose(library) == 0 ? 4 : 100;
}

volatile std::sig_atomic_t met = 0;

void count(int /*signal*/) {
    met = met + 1;
}

bool g_without_urg = false;

int use_signals() {
    met = 0;
    for (const int number : {SIGTRAP, SIGURG, SIGUSR1}) {
        if (number == SIGURG && g_without_urg) {
            continue;
        }
        struct sigaction action {};
        action.sa_handler = count;
        sigaction(number, &action, nullptr);
        raise(number);
        struct sigaction old {};
        sigaction(number, nullptr, &old);
        met = met + (old.sa_handler == count ? 1 : 0);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &set, nullptr);
    }
    return met;
}

int fork_on() {
    const pid_t pid = fork();
    if (pid == 0) {
        targets::burn(kWorkNs);
        exec_self();
    }
    return wait_for(pid);
}

int end() {
    std::exit(5);
}

int crash() {
    std::abort();
}

struct Deed {
    const char* name;
    int (*run)();
    bool after_vfork;
};

constexpr Deed kDeeds[] = {
    {"exec", exec_self, true},
    {"exec-number", exec_by_number, true},
    {"exec-env", exec_with_own_environment, true},
    {"exec-fails", fail_to_exec, true},
    {"spawn", spawn, false},
    {"vfork", vfork_and_exec, false},
    {"system", run_shell, false},
    {"threads", make_threads, false},
    {"libraries", load_and_unload, false},
    {"signals", use_signals, false},
    {"fork", fork_on, false},
    {"exit", end, false},
    {"abort", crash, false},
};

int run_deed(void* /*unused*/) {
    targets::burn(kWorkNs);
    return g_deed();
}

long raw_fork() {
    long result = SYS_fork;
    asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}

long make_child() {
    if (g_way == "fork") {
        return fork();
    }
    if (g_way == "_Fork") {
        return _Fork();
    }
    if (g_way == "fork-number") {
        return syscall(SYS_fork);
    }
    if (g_way == "clone-number") {
        return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    }
    if (g_way == "clone3-number") {
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        return syscall(SYS_clone3, &arguments, sizeof arguments);
    }
    return g_way == "raw" ? raw_fork() : -1;
}

using Clone = int(int (*)(void*), void*, int, void*, ...);

pid_t clone_child() {
    char* top = stack + sizeof stack;
    if (g_way == "__clone") {
        auto* aliased = reinterpret_cast<Clone*>(dlsym(RTLD_DEFAULT, "__clone"));
        return aliased(run_deed, top, SIGCHLD, nullptr);
    }
    return clone(run_deed, top, g_way == "clone" ? SIGCHLD : SIGCHLD | CLONE_FILES, nullptr);
}

int become_of_child() {
    targets::burn(kWorkNs);
    if (g_way == "vfork") {
        const pid_t pid =
            vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
        if (pid == 0) {
            _exit(g_deed());
        }
        return wait_for(pid);
    }
    if (g_way == "clone" || g_way == "__clone" || g_way == "shared-files") {
        return wait_for(clone_child());
    }
    const long pid = make_child();
    if (pid == 0) {
        _exit(run_deed(nullptr));
    }
    return pid > 0 ? wait_for(static_cast<pid_t>(pid)) : 1000;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view{argv[1]} == "child") {
        targets::burn(kWorkNs);
        return 7;
    }
    if (argc != 3 && argc != 4) {
        return targets::usage("WAY REPEATS [without-urg]");
    }
    g_without_urg = argc == 4;
    static const std::string path = argv[0];
    self = path.c_str();
    g_way = argv[1];
    for (const Deed& deed : kDeeds) {
        if (g_way == "vfork" && !deed.after_vfork) {
            continue;
        }
        g_deed = deed.run;
        const int first = become_of_child();
        std::printf("%s %s: %d\n", argv[1], deed.name, first);
        std::fflush(stdout);
        for (unsigned long repeat = 1; repeat < targets::number(argv[2]); ++repeat) {
            if (const int again = become_of_child(); again != first) {
                std::printf("but once: %d\n", again);
                std::fflush(stdout);
                break;
            }
        }
    }
    return 0;
}

// Starts programs and processes from a stack of a few KiB, as a coroutine has it, with a page below
// that may not be touched.
//
//     small_stacks BYTES REPEATS
//
// As `small_stacks child` it ends with 7.
//
// Stats: for each call it prints what became of the child, and once a difference between repeats.
#include "work.h"

#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>

namespace {

constexpr std::size_t kPage = 4096;

char* self = nullptr;
char* stack_low = nullptr;
std::size_t stack_bytes = 0;
ucontext_t main_context;
ucontext_t small_context;
void (*deed)() = nullptr;
volatile pid_t made = 0;
volatile int error = 0;

char child_word[] = "child";
char* words[] = {nullptr, child_word, nullptr};
char variable[] = "A=1";
/// A large one, without what a profiler had put into it.
char* own_environment[1000] = {};

void spawn() {
    pid_t pid = 0;
    error = posix_spawn(&pid, self, nullptr, nullptr, words, environ);
    made = pid;
}

void spawn_with_own_environment() {
    pid_t pid = 0;
    error = posix_spawn(&pid, self, nullptr, nullptr, words, own_environment);
    made = pid;
}

void fork_and_exec() {
    made = fork();
    if (made == 0) {
        execve(self, words, environ);
        _exit(100);
    }
}

void vfork_and_exec() {
    const pid_t pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
    if (pid == 0) {
        execve(self, words, own_environment);
        _exit(100);
    }
    made = pid;
}

void fork_by_number() {
    made = static_cast<pid_t>(syscall(SYS_fork));
    if (made == 0) {
        syscall(SYS_execve, self, words, environ);
        _exit(100);
    }
}

int exec_self(void* /*unused*/) {
    execve(self, words, own_environment);
    return 100;
}

/// The child's stack is the small one; its own is the main thread's.
void clone_onto() {
    made = clone(exec_self, stack_low + stack_bytes, SIGCHLD, nullptr);
}

void run_deed() {
    deed();
}

void on_small_stack() {
    getcontext(&small_context);
    small_context.uc_stack.ss_sp = stack_low;
    small_context.uc_stack.ss_size = stack_bytes;
    small_context.uc_link = &main_context;
    makecontext(&small_context, run_deed, 0);
    swapcontext(&main_context, &small_context);
}

int become_of_child(bool here) {
    made = 0;
    error = 0;
    here ? deed() : on_small_stack();
    int status = 0;
    while (waitpid(made, &status, 0) < 0 && errno == EINTR) {
    }
    return error != 0          ? 2000 + error
           : WIFEXITED(status) ? WEXITSTATUS(status)
                               : 1000 + WTERMSIG(status);
}

unsigned long pages_of_addresses() {
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    unsigned long pages = 0;
    if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) {
        return 0;
    }
    std::fclose(file);
    return pages;
}

struct Deed {
    const char* name;
    void (*run)();
    bool here;
};

constexpr Deed kDeeds[] = {
    {"spawn", spawn, false},           {"spawn-env", spawn_with_own_environment, false},
    {"fork", fork_and_exec, false},    {"vfork", vfork_and_exec, false},
    {"number", fork_by_number, false}, {"clone", clone_onto, true},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "child") == 0) {
        return 7;
    }
    if (argc != 3) {
        return targets::usage("BYTES REPEATS");
    }
    self = argv[0];
    std::fill_n(own_environment, std::size(own_environment) - 1, &variable[0]);
    words[0] = argv[0];
    stack_bytes = targets::number(argv[1]);
    auto* memory = static_cast<char*>(mmap(nullptr, stack_bytes + kPage, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory, kPage, PROT_NONE);
    stack_low = memory + kPage;
    for (const Deed& each : kDeeds) {
        deed = each.run;
        const int first = become_of_child(each.here);
        std::printf("%s: %d\n", each.name, first);
        std::fflush(stdout);
        for (unsigned long repeat = 1; repeat < targets::number(argv[2]); ++repeat) {
            if (const int again = become_of_child(each.here); again != first) {
                std::printf("but once: %d\n", again);
                break;
            }
        }
    }
    // Nothing of what the calls needed is left behind.
    const unsigned long before = pages_of_addresses();
    deed = vfork_and_exec;
    for (int repeat = 0; repeat < 20; ++repeat) {
        become_of_child(false);
    }
    std::printf("grows: %d\n", pages_of_addresses() > before + 64 ? 1 : 0);
    return 0;
}

// Every exec entry point: the gate is closed, the real function called, the gate opened if it
// failed.
//
// glibc's exec family calls execve internally, past any wrapper of it, so each name is wrapped. The
// variadic ones collect their arguments and go on as the vector ones.
#include "sampler/agent/confinement.h"
#include "sampler/agent/export.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/real.h"

#include <alloca.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace sample::agent {
namespace {

using Strings = char* const*;

constinit Real<int(const char*, Strings, Strings)> g_execve{"execve"};
constinit Real<int(const char*, Strings, Strings)> g_execvpe{"execvpe"};
constinit Real<int(int, Strings, Strings)> g_fexecve{"fexecve"};
constinit Real<int(int, const char*, Strings, Strings, int)> g_execveat{"execveat"};

template <class Function, class... Arguments>
int exec_behind_gate(Real<Function>& real, Arguments... arguments) noexcept {
    Function* function = real.get();
    if (function == nullptr) {
        errno = ENOSYS;
        return -1;
    }
    const ClosedGate gate;
    return function(arguments...);
}

std::size_t count_strings(Strings strings) noexcept {
    std::size_t count = 0;
    while (strings != nullptr && strings[count] != nullptr) {
        ++count;
    }
    return count;
}

std::size_t count_arguments(va_list list) noexcept {
    std::size_t count = 1;
    while (va_arg(list, char*) != nullptr) {
        ++count;
    }
    return count;
}

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are the names of new variables.
// Collects `first` and the variadic strings into `argv`, and leaves `list` behind the null pointer.
#define SAMPLE_COLLECT_ARGUMENTS(argv, first, list)                         \
    va_list counting;                                                       \
    va_start(counting, first);                                              \
    const std::size_t count = agent::count_arguments(counting);             \
    va_end(counting);                                                       \
    auto** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
    va_list list;                                                           \
    va_start(list, first);                                                  \
    argv[0] = const_cast<char*>(first);                                     \
    for (std::size_t i = 1; i <= count; ++i) {                              \
        argv[i] = va_arg(list, char*);                                      \
    }

// Where the next image could not join, `kept` is a copy of `envp` without what makes it try.
#define SAMPLE_ENVIRONMENT(kept, envp)                                                     \
    agent::Strings kept = envp;                                                            \
    if ((envp) != nullptr && agent::must_leave_environment()) {                            \
        auto** copy =                                                                      \
            static_cast<char**>(alloca((agent::count_strings(envp) + 1) * sizeof(char*))); \
        agent::copy_environment_without_us(envp, copy);                                    \
        kept = copy;                                                                       \
    }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

SAMPLE_WRAPPER int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
    SAMPLE_ENVIRONMENT(kept, envp)
    return agent::exec_behind_gate(agent::g_execve, path, argv, kept);
}

SAMPLE_WRAPPER int execv(const char* path, char* const argv[]) noexcept {
    return execve(path, argv, environ);
}

SAMPLE_WRAPPER int execvp(const char* file, char* const argv[]) noexcept {
    return execvpe(file, argv, environ);
}

SAMPLE_WRAPPER int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
    SAMPLE_ENVIRONMENT(kept, envp)
    return agent::exec_behind_gate(agent::g_execvpe, file, argv, kept);
}

SAMPLE_WRAPPER int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
    SAMPLE_ENVIRONMENT(kept, envp)
    return agent::exec_behind_gate(agent::g_fexecve, fd, argv, kept);
}

SAMPLE_WRAPPER int execveat(int fd, const char* path, char* const argv[], char* const envp[],
                            int flags) noexcept {
    SAMPLE_ENVIRONMENT(kept, envp)
    return agent::exec_behind_gate(agent::g_execveat, fd, path, argv, kept, flags);
}

SAMPLE_WRAPPER int execl(const char* path, const char* first, ...) noexcept {
    SAMPLE_COLLECT_ARGUMENTS(argv, first, list)
    va_end(list);
    return execv(path, argv);
}

SAMPLE_WRAPPER int execlp(const char* file, const char* first, ...) noexcept {
    SAMPLE_COLLECT_ARGUMENTS(argv, first, list)
    va_end(list);
    return execvp(file, argv);
}

SAMPLE_WRAPPER int execle(const char* path, const char* first, ...) noexcept {
    SAMPLE_COLLECT_ARGUMENTS(argv, first, list)
    char* const* envp = va_arg(list, char* const*);
    va_end(list);
    return execve(path, argv, envp);
}

}  // extern "C"

// Every exec entry point: the environment is put right, the gate is closed, the real function
// called, the gate opened if it failed.
//
// glibc's exec family calls execve internally, past any wrapper of it, so each name is wrapped. The
// variadic ones collect their arguments and go on as the vector ones.
#include "sampler/agent/exec_plan.h"
#include "sampler/agent/export.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/real.h"

#include <alloca.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>

namespace sample::agent {
namespace {

using Strings = char* const*;

SAMPLE_REAL constinit Real<int(const char*, Strings, Strings)> g_execve{"execve"};
SAMPLE_REAL constinit Real<int(const char*, Strings, Strings)> g_execvpe{"execvpe"};
SAMPLE_REAL constinit Real<int(int, Strings, Strings)> g_fexecve{"fexecve"};
SAMPLE_REAL constinit Real<int(int, const char*, Strings, Strings, int)> g_execveat{"execveat"};

/// Calls `exec` with the environment that the new image is to have, behind the gate.
template <class Look, class Exec>
int replace_image(Look look, Strings envp, Exec exec) noexcept {
    return start_program(is_own_process(), true, look, envp,
                         [&](Workplace& place, control::Unprofiled& target, Strings with) {
                             place.run([&] { announce(target, 0); });
                             int result = -1;
                             {
                                 const ClosedGate gate;
                                 result = exec(with);
                             }
                             place.run([&] { take_back(target); });
                             return result;
                         });
}

int exec_file(const char* path, Strings argv, Strings envp) noexcept {
    return replace_image([&](ExecPlan& plan) { plan.look_at(AT_FDCWD, path); }, envp,
                         [&](Strings with) { return g_execve.get()(path, argv, with); });
}

int exec_found(const char* file, Strings argv, Strings envp) noexcept {
    return replace_image([&](ExecPlan& plan) { plan.look_for(file); }, envp,
                         [&](Strings with) { return g_execvpe.get()(file, argv, with); });
}

int exec_descriptor(int fd, Strings argv, Strings envp) noexcept {
    return replace_image([&](ExecPlan& plan) { plan.look_at(fd); }, envp,
                         [&](Strings with) { return g_fexecve.get()(fd, argv, with); });
}

struct FileAt {
    int folder;
    const char* path;
    int flags;
};

int exec_at(const FileAt& file, Strings argv, Strings envp) noexcept {
    const auto look = [&](ExecPlan& plan) { plan.look_at(file.folder, file.path, file.flags); };
    return replace_image(look, envp, [&](Strings with) {
        return g_execveat.get()(file.folder, file.path, argv, with, file.flags);
    });
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
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

SAMPLE_WRAPPER int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
    return agent::exec_file(path, argv, envp);
}

SAMPLE_WRAPPER int execv(const char* path, char* const argv[]) noexcept {
    return agent::exec_file(path, argv, environ);
}

SAMPLE_WRAPPER int execvp(const char* file, char* const argv[]) noexcept {
    return agent::exec_found(file, argv, environ);
}

SAMPLE_WRAPPER int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
    return agent::exec_found(file, argv, envp);
}

SAMPLE_WRAPPER int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
    return agent::exec_descriptor(fd, argv, envp);
}

SAMPLE_WRAPPER int execveat(int fd, const char* path, char* const argv[], char* const envp[],
                            int flags) noexcept {
    return agent::exec_at({fd, path, flags}, argv, envp);
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

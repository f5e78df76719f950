// The calls that start a program: exec, posix_spawn, and for system and popen the mark in the
// program's own environment.
//
// Before it starts is decided which environment it gets, and whether the collector must be told of
// it because it will not hear from it. Around an exec the gate is closed, and opened if it failed.
// The child of posix_spawn runs none of our code before its exec. system and popen pass the
// program's own environment on inside libc: it has what it needs unless the program took it out
// there.
//
// glibc's exec family calls execve internally, past any wrapper of it, so each name is wrapped. The
// variadic ones collect their arguments and go on as the vector ones.
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/hosting/hosting.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/processes/exec_target.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/processes/readable.h"
#include "sampler/agent/processes/spare_stack.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/session/session_state.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"

#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace sample::agent {
namespace {

using Strings = char* const*;

SAMPLE_NEXT(g_execve, "execve", int(const char*, Strings, Strings));
SAMPLE_NEXT(g_execvpe, "execvpe", int(const char*, Strings, Strings));
SAMPLE_NEXT(g_fexecve, "fexecve", int(int, Strings, Strings));
SAMPLE_NEXT(g_execveat, "execveat", int(int, const char*, Strings, Strings, int));
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);

SAMPLE_NEXT(g_system, "system", int(const char*));
SAMPLE_NEXT(g_popen, "popen", FILE*(const char*, const char*));
SAMPLE_NEXT(g_posix_spawn, "posix_spawn", Spawn);
SAMPLE_NEXT(g_posix_spawnp, "posix_spawnp", Spawn);

/// The loader of what such a process starts runs in secure mode, as a setuid program's. Source:
/// ld.so(8), AT_SECURE; Linux security/commoncap.c, cap_bprm_creds_from_file.
bool acts_for_another() noexcept {
    return ::geteuid() != ::getuid() || ::getegid() != ::getgid();
}

/// Async-signal-safe, also in a vfork child.
struct ExecPlan {
    /// `own_process`: of the process that joined; else of a child of it. `is_exec`: the calling
    /// process becomes the program; else a new one does.
    explicit ExecPlan(bool own_process, bool is_exec = true) noexcept
        : inherit{inheritance(own_process)} {
        const bool is_traced = is_exec && is_traced_in_session();
        const capture::Area* area = capture::current_area();
        if (area != nullptr && area->header.stopped.load() != 0) {
            inherit = Inherit::as_given;
        }
        if (is_traced) {
            else_reason_ = control::NotProfiled::traced;
        } else if (!is_confined() && acts_for_another()) {
            else_reason_ = control::NotProfiled::two_users;
        }
        if (must_leave_environment() || (is_traced && inherit == Inherit::session)) {
            inherit = Inherit::nothing;
        }
        // Even what cannot be profiled hands its environment on.
        if (inherit != Inherit::nothing && !is_confined() && !library_is_in_reach()) {
            if (inherit == Inherit::session) {
                else_reason_ = control::NotProfiled::out_of_reach;
            }
            inherit = Inherit::nothing;
        }
        if (inherit == Inherit::session) {
            ask_collector();
        }
    }

    /// As execveat(2).
    void look_at(int folder, const char* path, int flags = 0) noexcept {
        if (may_look() && Readable{}.text(path)) {
            const bool is_folder = (flags & AT_EMPTY_PATH) != 0 && *path == '\0';
            settle(is_folder ? inspect_descriptor(folder) : inspect_program(folder, path));
        }
    }
    void look_for(const char* file) noexcept {
        char path[kMaxPathBytes];
        if (may_look() && Readable{}.text(file) && search_path(file, path)) {
            settle(inspect_program(AT_FDCWD, path));
        }
    }

    /// Behind a look: there is no room for what is ours.
    void leave_out() noexcept {
        if (inherit == Inherit::session) {
            inherit = Inherit::nothing;
            target.reason = target.inode == 0 || target.reason != control::NotProfiled::none
                                ? target.reason
                                : control::NotProfiled::no_room;
        }
    }

    /// environment_room() of an environment that may be no list at all. A filter may forbid to ask
    /// that.
    [[nodiscard]] std::size_t room_for(char* const* envp) const noexcept {
        return envp == environ || is_confined() || Readable{}.list(envp)
                   ? environment_room(envp, inherit, runtime.data())
                   : 0;
    }

    Inherit inherit;
    control::Unprofiled target;
    std::array<char, 64> runtime{};  ///< As ExecTarget's.

private:
    /// A filter of system calls may forbid what looking takes.
    [[nodiscard]] bool may_look() const noexcept {
        return (inherit == Inherit::session || else_reason_ != control::NotProfiled::none) &&
               !is_confined();
    }
    void settle(const ExecTarget& found) noexcept {
        target = found.program;
        runtime = found.runtime;
        if (!found.may_read_library && inherit == Inherit::session) {
            else_reason_ = control::NotProfiled::out_of_reach;
            inherit = Inherit::nothing;
        }
        if (target.reason == control::NotProfiled::none && target.inode != 0) {
            target.reason = else_reason_;
        }
        // Their loaders would complain of our library, or fail.
        if (target.reason == control::NotProfiled::other_machine ||
            target.reason == control::NotProfiled::musl) {
            inherit = Inherit::nothing;
        }
    }

    /// Of a program that the agent could be loaded into.
    control::NotProfiled else_reason_ = control::NotProfiled::none;
};

/// Calls `start(spare, target, envp)` with the environment that the program is to have;
/// `look(plan)` finds out what it is. `own_process` and `is_exec` as ExecPlan's. Async-signal-safe,
/// also in a vfork child and on a small stack.
template <class Look, class Start>
[[gnu::noinline]] int start_program(bool own_process, bool is_exec, Look look, Strings envp,
                                    Start start) noexcept {
    SpareStack spare;
    void* const at = spare.uses_callers_stack() ? alloca(sizeof(ExecPlan)) : spare.memory();
    ExecPlan* plan = nullptr;
    std::size_t room = 0;
    spare.run([&] {
        plan = new (at) ExecPlan{own_process, is_exec};
        look(*plan);
        room = plan->room_for(envp);
    });
    if (room != 0) {
        void* const made =
            spare.uses_callers_stack() ? alloca(room) : spare.memory() + sizeof(ExecPlan);
        envp = make_environment(envp, plan->inherit, plan->runtime.data(), made);
    }
    return start(spare, plan->target, envp);
}
static_assert(sizeof(ExecPlan) + kMaxEnvironmentRoom <= SpareStack::kMemoryBytes);

template <class Look>
auto without_us(Look look) noexcept {
    return [look](ExecPlan& plan) {
        look(plan);
        plan.leave_out();
    };
}

/// Calls `exec` with the environment that the new image is to have, behind the gate.
template <class Look, class Exec>
int replace_image_once(Look look, Strings envp, Exec exec) noexcept {
    return start_program(is_own_process(), true, look, envp,
                         [&](SpareStack& spare, control::Unprofiled& target, Strings with) {
                             spare.run([&] { announce(target, 0); });
                             int result = -1;
                             {
                                 const ClosedGate gate;
                                 result = exec(with);
                             }
                             spare.run([&] { take_back(target); });
                             return result;
                         });
}

/// The same, without us where our variables are what is too much for the kernel.
template <class Look, class Exec>
int replace_image(const char* path, Look look, Strings envp, Exec exec) noexcept {
    tell_exec(path);
    const int result = replace_image_once(look, envp, exec);
    return result == -1 && errno == E2BIG ? replace_image_once(without_us(look), envp, exec)
                                          : result;
}

int exec_file(const char* path, Strings argv, Strings envp) noexcept {
    return replace_image(
        path, [&](ExecPlan& plan) { plan.look_at(AT_FDCWD, path); }, envp,
        [&](Strings with) { return g_execve.get()(path, argv, with); });
}

int exec_found(const char* file, Strings argv, Strings envp) noexcept {
    return replace_image(
        file, [&](ExecPlan& plan) { plan.look_for(file); }, envp,
        [&](Strings with) { return g_execvpe.get()(file, argv, with); });
}

/// Calls `spawn` with the environment that the child is to have.
template <class Look, class Call>
int start_child_once(Look look, pid_t* pid, Strings envp, Call spawn) noexcept {
    return start_program(false, false, look, envp,
                         [&](SpareStack& spare, control::Unprofiled& target, Strings with) {
                             // In the caller's variable before a handler of SIGCHLD runs.
                             pid_t own = 0;
                             pid_t* const child = pid != nullptr ? pid : &own;
                             // The child inherits them.
                             const ShownDispositions shown = show_program_dispositions();
                             const int result = spawn(child, with);
                             restore_own_dispositions(shown);
                             // Which may have forgotten it already.
                             if (const pid_t told = result == 0 ? *child : 0; told > 0) {
                                 spare.run([&] { announce(target, told); });
                             }
                             return result;
                         });
}

/// As replace_image().
template <class Look, class Call>
int start_child(Look look, pid_t* pid, Strings envp, Call spawn) noexcept {
    const int result = start_child_once(look, pid, envp, spawn);
    return result == E2BIG ? start_child_once(without_us(look), pid, envp, spawn) : result;
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
    return agent::replace_image(
        "", [&](agent::ExecPlan& plan) { plan.look_at(fd, "", AT_EMPTY_PATH); }, envp,
        [&](char* const* with) { return agent::g_fexecve.get()(fd, argv, with); });
}

SAMPLE_WRAPPER int execveat(int fd, const char* path, char* const argv[], char* const envp[],
                            int flags) noexcept {
    return agent::replace_image(
        path, [&](agent::ExecPlan& plan) { plan.look_at(fd, path, flags); }, envp,
        [&](char* const* with) { return agent::g_execveat.get()(fd, path, argv, with, flags); });
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

SAMPLE_WRAPPER int posix_spawn(pid_t* pid, const char* path,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const argv[],
                               char* const envp[]) {
    const auto look = [&](agent::ExecPlan& plan) { plan.look_at(AT_FDCWD, path); };
    return agent::start_child(look, pid, envp, [&](pid_t* child, char* const* with) {
        return agent::g_posix_spawn.get()(child, path, actions, attributes, argv, with);
    });
}

SAMPLE_WRAPPER int posix_spawnp(pid_t* pid, const char* file,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const argv[],
                                char* const envp[]) {
    const auto look = [&](agent::ExecPlan& plan) { plan.look_for(file); };
    return agent::start_child(look, pid, envp, [&](pid_t* child, char* const* with) {
        return agent::g_posix_spawnp.get()(child, file, actions, attributes, argv, with);
    });
}

SAMPLE_WRAPPER int system(const char* command) {
    agent::publish_session();
    const agent::ExecPlan asks_the_collector{false};
    return agent::g_system.get()(command);
}

SAMPLE_WRAPPER FILE* popen(const char* command, const char* mode) {
    agent::publish_session();
    const agent::ExecPlan asks_the_collector{false};
    return agent::g_popen.get()(command, mode);
}

}  // extern "C"

// posix_spawn and posix_spawnp: the child's environment is put right, and the collector told of a
// child that it will not hear from. For system and popen the mark in the program's own environment.
//
// The child that the real function makes runs none of our code before its exec. system and popen
// pass the program's own environment on inside libc: it has what it needs unless the program took
// it out there.
#include "sampler/agent/exec_plan.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"
#include "sampler/agent/signals.h"

#include <spawn.h>

#include <cstdio>
#include <cstdlib>

namespace sample::agent {
namespace {

using Strings = char* const*;
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);

SAMPLE_REAL constinit Real<int(const char*)> g_system{"system"};
SAMPLE_REAL constinit Real<FILE*(const char*, const char*)> g_popen{"popen"};
SAMPLE_REAL constinit Real<Spawn> g_posix_spawn{"posix_spawn"};
SAMPLE_REAL constinit Real<Spawn> g_posix_spawnp{"posix_spawnp"};

/// Calls `spawn` with the environment that the child is to have.
template <class Look, class Call>
int start_child(Look look, pid_t* pid, Strings envp, Call spawn) noexcept {
    return start_program(false, false, look, envp,
                         [&](Workplace& place, control::Unprofiled& target, Strings with) {
                             pid_t child = 0;
                             // The child inherits them.
                             const ShownDispositions shown = show_program_dispositions();
                             const int result = spawn(&child, with);
                             restore_own_dispositions(shown);
                             if (result == 0) {
                                 place.run([&] { announce(target, child); });
                                 if (pid != nullptr) {
                                     *pid = child;
                                 }
                             }
                             return result;
                         });
}

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

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
    const agent::ExecPlan asks_the_collector{false};
    return agent::g_system.get()(command);
}

SAMPLE_WRAPPER FILE* popen(const char* command, const char* mode) {
    const agent::ExecPlan asks_the_collector{false};
    return agent::g_popen.get()(command, mode);
}

}  // extern "C"

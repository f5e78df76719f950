// posix_spawn and posix_spawnp: the child's environment is put right, and the collector told of a
// child that it will not hear from.
//
// The child that the real function makes runs none of our code before its exec. system and popen
// pass the program's own environment on inside libc: it has what it needs unless the program took
// it out there.
#include "sampler/agent/child_environment.h"
#include "sampler/agent/exec_plan.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"

#include <alloca.h>
#include <spawn.h>

namespace sample::agent {
namespace {

using Strings = char* const*;
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);

constinit Real<Spawn> g_posix_spawn{"posix_spawn"};
constinit Real<Spawn> g_posix_spawnp{"posix_spawnp"};

/// Calls `spawn` with the environment that the child is to have.
template <class Call>
[[gnu::noinline]] int start_child(ExecPlan& plan, pid_t* pid, Strings envp, Call spawn) noexcept {
    const std::size_t room = environment_room(envp, plan.inherit);
    if (room != 0) {
        envp = make_environment(envp, plan.inherit, alloca(room));
    }
    pid_t child = 0;
    const int result = spawn(&child, envp);
    if (result == 0) {
        announce(plan.target, child);
        if (pid != nullptr) {
            *pid = child;
        }
    }
    return result;
}

}  // namespace
}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int posix_spawn(pid_t* pid, const char* path,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const argv[],
                               char* const envp[]) {
    agent::ExecPlan plan{false};
    plan.look_at(AT_FDCWD, path);
    return agent::start_child(plan, pid, envp, [&](pid_t* child, char* const* with) {
        return agent::g_posix_spawn.get()(child, path, actions, attributes, argv, with);
    });
}

SAMPLE_WRAPPER int posix_spawnp(pid_t* pid, const char* file,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const argv[],
                                char* const envp[]) {
    agent::ExecPlan plan{false};
    plan.look_for(file);
    return agent::start_child(plan, pid, envp, [&](pid_t* child, char* const* with) {
        return agent::g_posix_spawnp.get()(child, file, actions, attributes, argv, with);
    });
}

}  // extern "C"

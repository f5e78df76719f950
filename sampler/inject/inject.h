// Brings the agent into a process that was started without it.
//
//   may it be? (admission) ─▶ a thread at a safe place (safe_place) ─▶ it makes a thread
//   (held_thread, remote_code) ─▶ that one loads libsample.so and joins the session
//
// One thread of the process stands still for that, once, for about a millisecond; the others run.
// What it leaves in the process is the agent, as sample_agent_load() does.
#pragma once

#include "core/result.h"

#include <sys/types.h>

#include <chrono>
#include <string>

namespace sample::inject {

struct Injected {
    /// How long the thread that made the agent's stood still, those before it that were not at a
    /// safe place included.
    std::chrono::nanoseconds stopped{};
};

/// Refuses where it would not be safe, before the process is touched. Errors say why, and what to
/// do: permission, unsupported, not_found (the process has ended).
[[nodiscard]] Result<void> check_process(pid_t pid, const std::string& library);

/// check_process() has admitted it. `library`: the path of libsample.so, for the process;
/// `session`: the name of one that it is to join, which runs already. Returns when it has joined.
/// Errors: as check_process(), and what the agent says.
[[nodiscard]] Result<Injected> inject_agent(pid_t pid, const std::string& library,
                                            const std::string& session);

}  // namespace sample::inject

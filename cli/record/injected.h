// `sample attach --inject`: the agent is brought into a process that was started without it, with a
// collector of its own, as if it had been started with SAMPLE_START=off; then it is woken.
#pragma once

#include "core/result.h"

#include <sys/types.h>

#include <string_view>

namespace sample::cli {

/// What a collector answers that could not begin, before the reason; else its session's name.
inline constexpr std::string_view kNoCollector = "error ";

/// Starts a collector, beneath nobody and as the process's user, and brings the agent in. From then
/// on the process has a session whose agent sleeps (sleeper.h). Tells people, unless `quiet`.
/// Errors: those of inject::check_process() and inject::inject_agent(); system. Then the process is
/// as it was, but for an agent that has joined nothing.
[[nodiscard]] Result<void> bring_agent_into(pid_t pid, bool quiet);

}  // namespace sample::cli

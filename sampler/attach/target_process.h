// Which process is meant, and whether it can be watched.
#pragma once

#include "core/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace sample::attach {

/// Whether the process can be watched, as far as /proc tells. Errors say what to do: not_found
/// (there is no such process, or it has ended), invalid_argument (a thread of another process, this
/// process itself), unsupported (a thread of the kernel, a program for another processor).
[[nodiscard]] Result<void> check_target(pid_t pid);

/// What perf_event_open's refusal of a process means, and what to do.
[[nodiscard]] Error explain_refusal(pid_t pid, const Error& refusal);

/// The processes whose program, or first thread, is called `name`; without this one.
[[nodiscard]] std::vector<pid_t> processes_called(const std::string& name);

/// The processes that any of `pids` has started, and those that these have, as far as they live;
/// some of `pids` may be among them. Reads all of /proc once.
[[nodiscard]] std::vector<pid_t> descendants_of(const std::vector<pid_t>& pids);

}  // namespace sample::attach

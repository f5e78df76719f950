// The processes that run already and are to be watched, as their user names them.
#pragma once

#include "cli/options/options.h"
#include "core/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace sample::cli {

/// The processes that options.targets name, each once. Where options.waits, until they are there or
/// `stop_fd` is readable. Errors: not_found, invalid_argument, saying what to do; those of
/// attach::check_target().
[[nodiscard]] Result<std::vector<pid_t>> find_targets(const AttachOptions& options, int stop_fd);

/// The path of the program that it runs, or what the process is called.
[[nodiscard]] std::string program_of(pid_t pid);

/// "./a b + ./c".
[[nodiscard]] std::string command_lines_of(const std::vector<pid_t>& pids);

}  // namespace sample::cli

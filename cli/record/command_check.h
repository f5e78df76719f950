// What is known of a command before it is started: which file it is, and whether it can be
// profiled.
#pragma once

#include "core/result.h"

#include <string>

namespace sample::cli {

inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

struct CommandCheck {
    std::string path;  ///< The file that execvp would take.
    /// Why the agent cannot be loaded into it, for people; empty: it can.
    std::string cannot_profile;
    /// A library that has to come before the agent; empty: none.
    std::string runtime;
};

/// Looks `word` up as execvp(3) does and reads the file (behind "#!", the interpreter).
/// Errors: not_found (exit code 127), permission (126), with the shell's wording.
[[nodiscard]] Result<CommandCheck> check_command(const std::string& word);

}  // namespace sample::cli

// What becomes of the command if `sample` itself cannot go on: out of memory, no thread to be had,
// a crash. The recording ends; the command runs, is waited for, and its end is ours.
//
// This process becomes `sample --attend PID`, which needs next to nothing, and neither memory nor
// locks nor threads of what has failed: the same process, with the same child.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sample::cli {

/// From here on exceptions that nobody catches, and crashes, lead to leave_to_itself(). A signal
/// that somebody sends and that would look like a crash, such as SIGABRT, is passed on to
/// `command`. Call it once, behind stand_by_the_command(). `order`: LaunchedCommand's, while the
/// command waits for it.
void guard(pid_t command, int order) noexcept;
/// It waits no more.
void guard_started() noexcept;

/// Whether guard() has been called.
[[nodiscard]] bool is_guarding() noexcept;
/// The recording ends here: says `why`. A command that waits runs unprofiled. Async-signal-safe.
[[noreturn]] void leave_to_itself(const char* why) noexcept;

/// The process that `words`, a command line, ask to attend to; none: they are anybody's.
[[nodiscard]] std::optional<pid_t> attended(const std::vector<std::string>& words);
/// Waits for the child `command`, passes signals on, and ends as it ends: outlast(). Returns if
/// there is no such child.
int attend(pid_t command);

}  // namespace sample::cli

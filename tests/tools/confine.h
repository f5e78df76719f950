// The parts of `confine`: each turns the calling process into something weaker, or runs the command
// under somebody's eyes. Problems end the process with kCannotConfine and a line on stderr.
#pragma once

namespace sample::tools {

/// As env(1) and timeout(1) end when they themselves fail.
inline constexpr int kCannotConfine = 125;
/// The traced command was stopped by a SIGTRAP that was not the tracer's own doing.
inline constexpr int kStoppedByTrap = 99;

/// What perf_event_open answers from here on, in this process and all below it.
enum class PerfRule {
    allowed,
    refused,          ///< Each call fails with `errno_value`.
    without_sigtrap,  ///< Requests with attr.sigtrap fail with EINVAL.
    before_5_13,      ///< As Linux 5.12 answers: it does not know what 5.13 brought.
};

void limit_perf(PerfRule rule, int errno_value);

/// From here on close_range is not there, as before Linux 5.9.
void forget_close_range();

/// From here on each system call, and each return from a signal handler, takes so many microseconds
/// more, in this process and all below it.
void make_dear(double more_us_a_call, double more_us_a_handler);

/// Runs the command as the child of a tracer that is attached before its first instruction, and to
/// all that it starts. Ends as the command does, or with kStoppedByTrap.
[[noreturn]] void run_traced(char** command);

/// All of it: `words` are confine's options and the command.
[[noreturn]] void run_as(char** words);

/// "confine: WHAT: errno's text", then ends with kCannotConfine.
[[noreturn]] void give_up(const char* what);

}  // namespace sample::tools

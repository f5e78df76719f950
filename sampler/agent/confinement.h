// A program that confines itself with seccomp, and what that forbids us.
//
// The handler, a thread's end, an exec and a joining child make system calls of their own. A filter
// that does not know them would end the program by our doing. So each filter is tried in advance: a
// child that shares no memory installs it and makes those calls. What it does not survive is not
// done: without the handler's calls sampling stops before the filter is set; without those of a
// joining process the children of this one are left alone, as a filter is inherited by forks and
// execs. Strict mode allows none of them.
//
// What a filter says may depend on the arguments only by value; those of the trial are like the
// real ones. Source: seccomp(2), prctl(2), Linux kernel/seccomp.c.
#pragma once

#include <cstdint>

namespace sample::agent {

/// The program's call: prctl(PR_SET_SECCOMP) or seccomp(2), as it reaches the kernel.
struct ConfiningCall {
    long number = 0;
    long a = 0;
    long b = 0;
    long c = 0;
};

/// Remembers who we are: for whom the library is preloaded. In the constructor, and in a forked
/// child. Not async-signal-safe.
void set_up_confinement() noexcept;

/// Does what the call's success will make necessary; to be called right before it. A call that is
/// going to fail changes nothing. Not async-signal-safe.
void before_confinement(const ConfiningCall& call) noexcept;

/// False: a filter forbids what joining a session, or arming a thread, needs. Async-signal-safe.
[[nodiscard]] bool may_join() noexcept;

/// Whether this image has set a filter, whatever it forbids. Async-signal-safe.
[[nodiscard]] bool is_confined() noexcept;

/// Whether the program's next image is to start without us, as it could not join.
/// Async-signal-safe.
[[nodiscard]] bool must_leave_environment() noexcept;

/// Copies `from` to `to`, which has as many entries, without the variables that make a program
/// join. Async-signal-safe, for one thread at a time.
void copy_environment_without_us(char* const* from, char** to) noexcept;

}  // namespace sample::agent

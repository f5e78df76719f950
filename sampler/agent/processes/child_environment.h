// What a program that is exec'ed finds in its environment.
//
// Children are recorded by default, so LD_PRELOAD and SAMPLE_SESSION are put back where the program
// passes an environment without them (env -i, an envp of its own). Where a program is not to be
// recorded, or cannot be, both are taken out: it runs as if we were not there.
//
// A sanitizer's runtime has to come before every other library: it is named before ours where the
// program needs it. The image that starts so takes that name out again, so that it sees what every
// other one does and none of its children gets what it does not need.
//
// No heap, and in a vfork child nothing but its own stack is written: the caller brings the room.
// Async-signal-safe, but for set_up_children() and leave_environment().
#pragma once

#include <cstddef>

namespace sample::agent {

/// Called once when the process has joined a session. Not async-signal-safe.
void set_up_children(bool wanted) noexcept;

/// False: --no-children, or this process is in no session.
[[nodiscard]] bool children_wanted() noexcept;

enum class Inherit {
    as_given,
    session,
    nothing,  ///< Of ours.
};

/// For the next image of the process itself, or for a child of it.
[[nodiscard]] Inherit inheritance(bool own_process) noexcept;

/// Beyond it an environment is passed on as it is.
inline constexpr std::size_t kMaxEnvironmentRoom = std::size_t{64} * 1024;
/// Whether the loader of the next image finds our file by the path that it will be given. It
/// complains on the program's standard error where it does not: in another root folder or mount
/// namespace, or by a relative path from another folder.
[[nodiscard]] bool library_is_in_reach() noexcept;

/// Whether it may also read it there: Landlock forbids that alone. Makes a descriptor: for a thread
/// with a table of its own.
[[nodiscard]] bool library_may_be_read() noexcept;

/// Room for make_environment(), in bytes, aligned for pointers. 0: `envp` will do as it is.
/// `runtime`: what the program needs first, or empty.
[[nodiscard]] std::size_t environment_room(char* const* envp, Inherit inherit,
                                           const char* runtime) noexcept;

/// A copy of `envp`, its strings shared, with what `inherit` asks for. Valid as long as `room`.
[[nodiscard]] char** make_environment(char* const* envp, Inherit inherit, const char* runtime,
                                      void* room) noexcept;

/// In the constructor: takes the runtime's name out of the program's own environment, in place.
void forget_runtime() noexcept;

/// Takes us out of the program's own environment, in place as unsetenv(3) does: functions of libc
/// that exec without asking us see it, too. No system call. For one thread at a time.
void leave_environment() noexcept;

}  // namespace sample::agent

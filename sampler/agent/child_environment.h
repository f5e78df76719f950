// What a program that is exec'ed finds in its environment.
//
// Children are recorded by default, so LD_PRELOAD and SAMPLE_SESSION are put back where the program
// passes an environment without them (env -i, an envp of its own). Where a program is not to be
// recorded, or cannot be, both are taken out: it runs as if we were not there.
//
// No heap, and in a vfork child nothing but its own stack is written: the caller brings the room.
// Async-signal-safe, but for set_up_children().
#pragma once

#include <cstddef>

namespace sample::agent {

/// Called once when the process has joined a session. Not async-signal-safe.
void set_up_children(const char* session_name, bool wanted) noexcept;

/// False: --no-children, or this process is in no session.
[[nodiscard]] bool children_wanted() noexcept;

enum class Inherit {
    as_given,
    session,
    nothing,  ///< Of ours.
};

/// For the next image of the process itself, or for a child of it.
[[nodiscard]] Inherit inheritance(bool own_process) noexcept;

/// Room for make_environment(), in bytes, aligned for pointers. 0: `envp` will do as it is.
[[nodiscard]] std::size_t environment_room(char* const* envp, Inherit inherit) noexcept;

/// A copy of `envp`, its strings shared, with what `inherit` asks for. Valid as long as `room`.
[[nodiscard]] char** make_environment(char* const* envp, Inherit inherit, void* room) noexcept;

}  // namespace sample::agent

// The file that is about to be exec'ed: can the agent be loaded into it, and if not, why?
//
// A static, setuid or foreign program runs untouched, so nobody but whoever starts it can tell that
// it ran: the agent looks at the file, and tells the collector of those that it will not see again.
// System calls only, nothing is written but the caller's stack: async-signal-safe, and right in a
// vfork child.
#pragma once

#include "sampler/control/protocol.h"

#include <array>
#include <cstddef>

namespace sample::agent {

/// Longer paths are not looked at: the stack may be small.
inline constexpr std::size_t kMaxPathBytes = 1024;

struct ExecTarget {
    /// `reason` none: the agent can be loaded, or it is not known.
    control::Unprofiled program;
    /// A library that has to come before every other, as the file names it; empty: none.
    std::array<char, 64> runtime{};
    bool may_read_library = true;  ///< library_may_be_read(), as far as it is known.
};

/// What is known of the file.
[[nodiscard]] ExecTarget inspect_program(int folder, const char* path) noexcept;

/// Likewise of an open file.
[[nodiscard]] ExecTarget inspect_descriptor(int fd) noexcept;

/// Looks `file` up as execvp(3) does. False: not found.
[[nodiscard]] bool search_path(const char* file, char (&path)[kMaxPathBytes]) noexcept;

/// Tells the collector, if there is something to tell. `pid` 0: the calling process becomes it.
/// Does not wait for an answer.
void announce(control::Unprofiled& program, int pid) noexcept;

/// The exec failed after all.
void take_back(control::Unprofiled& program) noexcept;

}  // namespace sample::agent

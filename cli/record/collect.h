// The hidden verb that the agent starts; see collect.cpp.
#pragma once

namespace sample::cli {

/// Records the process at the other end of the socket `fd` until it ends. Returns the exit code.
[[nodiscard]] int run_collect(int fd);

}  // namespace sample::cli

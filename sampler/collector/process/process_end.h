// How a process died, by its pidfd. Works for processes that are not our children, where the kernel
// tells.
#pragma once

#include "trace/records.h"

#include <sys/types.h>

namespace sample::collector {

struct ProcessFate {
    trace::EndKind kind = trace::EndKind::unknown;
    int code = 0;
};

/// Not reaped: whoever waits for the process still can. `unknown` where neither waitid(2) nor
/// PIDFD_GET_INFO (Linux 6.15) may tell.
[[nodiscard]] ProcessFate fate_of(pid_t pid, int pidfd);

/// Whether it has ended. Without a pidfd (-1) `pid` must not have been used again.
[[nodiscard]] bool has_died(pid_t pid, int pidfd);

}  // namespace sample::collector

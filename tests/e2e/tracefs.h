// Tracepoints for commands of a test, also where the machine has not mounted them.
#pragma once

#include "run.h"

#include <unistd.h>

#include <string>

namespace sample::e2e {

/// Runs `line` in a mount namespace of its own, where tracefs is mounted if this machine has not
/// mounted it already. Root alone may. It stays the process that it is.
[[nodiscard]] inline Words with_tracefs(const Words& line) {
    // What unshare does by itself, to make all mounts private, fails in a chroot whose root is no
    // mount point. Those below /sys will do: tracefs is not to be seen outside.
    const std::string mount =
        "test -d /sys/kernel/tracing/events || "
        "{ mount --make-rprivate /sys && mount -t tracefs none /sys/kernel/tracing; }";
    Words whole = {"unshare", "--mount", "--propagation",           "unchanged",
                   "sh",      "-c",      mount + " && exec \"$@\"", "sh"};
    whole.insert(whole.end(), line.begin(), line.end());
    return whole;
}

/// Empty, or why this machine shows no tracepoints.
[[nodiscard]] inline std::string no_tracefs() {
    if (::geteuid() != 0) {
        return "only root can mount tracefs";
    }
    const Outcome tried = run(with_tracefs({"true"}));
    return tried.exit_code == 0 ? "" : "tracefs cannot be mounted: " + tried.err;
}

}  // namespace sample::e2e

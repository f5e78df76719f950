// Events for all threads of a process that runs, opened from outside.
//
// A thread that is made meanwhile has inherited one or not, and nobody can tell which. So all is
// done again until no thread came while it was, some times at most: of a program that makes threads
// all the time, some of those that came in that moment may have two events or none. Two are no
// harm to durations, as a process's samples share what its clock has moved.
#pragma once

#include "core/fd.h"
#include "sampler/source/perf_event.h"

#include <sys/types.h>

#include <optional>
#include <vector>

namespace sample::collector {

/// Disabled events, as `request` says, for each thread of the process but `except`. None: they may
/// not be opened, or there are no descriptors for so many.
[[nodiscard]] std::optional<std::vector<Fd>> open_for_all_threads(
    pid_t pid, pid_t except, const source::PerfRequest& request);

}  // namespace sample::collector

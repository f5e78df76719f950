// The honest part of a Profile: who was recorded, how they ended, and how trustworthy the figures
// are.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "trace/records.h"

#include <string>
#include <vector>

namespace sample::callgraph {

/// Fills everything of `profile` that does not depend on its tree: the session's times and command
/// line, metrics, threads, processes, stats. O(nodes + weights).
void fill_stats(Profile& profile, const Recording& recording, MetricId metric);

/// How a process ended, in words: "exited with 0", "killed by SIGSEGV (11)", "replaced by an exec",
/// "still running", or "ending unknown".
[[nodiscard]] std::string describe_ending(const trace::ProcessEnd& end);

/// The lines for Stats::notes.
[[nodiscard]] std::vector<std::string> make_notes(const Recording& recording, const Stats& stats);

}  // namespace sample::callgraph

// The text that `perf script` prints, as its readers take it: an entry a sample, its stack below
// it. docs/format-perf-script.md has what stands where addresses would, and what readers make of
// it. Source: perf-script(1); tools/perf/builtin-script.c of Linux 6.1.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/writer.h"

namespace sample::exports {

/// An entry for each sample and booking, thread by thread, with its time and, as its period, what
/// it stands for. Without a timeline, an entry for each node, without a time. The sink's error if
/// it fails. O(size of the output); no recursion.
[[nodiscard]] Result<void> write_perf_script(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

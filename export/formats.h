// The formats: each a function that writes a profile to a sink. docs/format-NAME.md has what of a
// profile goes where, what is lost, and what known readers make of it.
//
// All: the sink's error if it fails; those that say what totals they hold also `unsupported` for a
// greater one, with what to do. Text is UTF-8, bytes that are not become U+FFFD. No recursion.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "export/shared/writer.h"

namespace sample::exports {

/// The script-profiler JSON, version 2, which import/ reads. Durations are floored to microseconds;
/// counts, in a profile of an event, are as they are, with its name and unit in fields of ours. Two
/// different functions that would share (Source, Name, Line) under one node get different names,
/// because known readers use that as a key. O(nodes + functions).
[[nodiscard]] Result<void> write_script_profiler_json(const callgraph::Profile& profile,
                                                      const Sink& sink);

/// Folded stacks, the text that flame-graph scripts read: one line a stack, "category;main;work
/// 123".
///
/// The value is what was spent in the stack's leaf itself, in microseconds, or the count in a
/// profile of an event; lines whose value is 0 are left out. A ';' in a name becomes ':', and
/// control characters become spaces. Microseconds are the differences of the floored running sum,
/// so that the lines add up to the floored total of the profile, not to a little less for each
/// line. O(output). Source: the stackcollapse scripts of FlameGraph.
[[nodiscard]] Result<void> write_folded(const callgraph::Profile& profile, const Sink& sink);

/// pprof, the format of Go's profiler and of many tools that show profiles: a gzipped protocol
/// buffer. One sample for each stack, with its weight and its number of samples; with a timeline,
/// for each thread and stack. Totals up to 2^63 - 1. O(samples + output).
[[nodiscard]] Result<void> write_pprof(const callgraph::Profile& profile, const Sink& sink);

/// speedscope's own format. One "evented" profile a track (export/shared/tracks.h), on the real
/// time axis where there is one; one frame a function, in the order of the functions. Frames'
/// totals and selves in speedscope are those of the functions, to the nanosecond. Totals up to
/// kLongestAxis. O(output). Source: https://www.speedscope.app/file-format-schema.json.
[[nodiscard]] Result<void> write_speedscope(const callgraph::Profile& profile, const Sink& sink);

/// The Firefox Profiler's processed profile format, version 66: one track a thread, with its
/// samples at their times; without a timeline one track a category, with one sample a node, all at
/// time 0. Weights are milliseconds, exact to the nanosecond, or counts of the profile's event.
/// Totals up to 2^63 - 1. O(output); reads each series of samples once a column.
/// Source: firefox-devtools/profiler, src/types/profile.ts and the upgraders of
/// src/profile-logic/processed-profile-versioning.ts up to version 66.
[[nodiscard]] Result<void> write_firefox(const callgraph::Profile& profile, const Sink& sink);

/// Chrome's JSON trace events, as Perfetto and chrome://tracing read them: begin and end events,
/// properly nested, of each track (export/shared/tracks.h), in microseconds with the nanoseconds as
/// their fraction; counters of samples and CPU use along real time. Times never go back within a
/// track. Totals up to kLongestAxis, of an event a thousandth of it. O(output).
/// Source: "Trace Event Format" (the Chromium project's document), and Perfetto's reader of it.
[[nodiscard]] Result<void> write_chrome_trace(const callgraph::Profile& profile, const Sink& sink);

/// Callgrind's format, which callgrind_annotate and KCachegrind read: a text of functions, what
/// each line of them cost, and what the calls from there cost.
///
/// Both readers take the calls into a function for its inclusive cost. So a stack is counted at the
/// call that enters a function first, seen from the root, and at no call that enters it again: then
/// the calls into each function add up to its total, recursion counted once, and every such call
/// was really seen. Each category is a function that calls, so that no function is without a
/// caller. O(nodes log nodes + output).
[[nodiscard]] Result<void> write_callgrind(const callgraph::Profile& profile, const Sink& sink);

/// The text that `perf script` prints, as its readers take it: an entry for each sample and
/// booking, thread by thread, with its time and, as its period, what it stands for, its stack below
/// it. Without a timeline, an entry for each node, without a time. Totals up to kLongestAxis.
/// O(output). Source: perf-script(1); tools/perf/builtin-script.c of Linux 6.1.
[[nodiscard]] Result<void> write_perf_script(const callgraph::Profile& profile, const Sink& sink);

/// One self-contained HTML page with the profile in it: a flame graph and a table of functions.
/// What comes from the profile is in it as base64 only, so no name can be taken for markup; the
/// page shows it as text. O(output). The page itself is in export/html/.
[[nodiscard]] Result<void> write_html(const callgraph::Profile& profile, const Sink& sink);

/// The functions as comma-separated values, for spreadsheets and scripts: a header and a line for
/// each function, by self time, as the functions view has them. Text is always quoted; one that a
/// spreadsheet might take for a formula, and one that begins with an apostrophe, gets an apostrophe
/// in front. O(functions log functions). Source: RFC 4180.
[[nodiscard]] Result<void> write_csv(const callgraph::Profile& profile, const Sink& sink);

}  // namespace sample::exports

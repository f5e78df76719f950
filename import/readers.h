// The readers of the formats, a .cpp file each. docs/import.md has what is kept and refused.
//
// All errors are `corrupt`, where nothing else is said, and name the place: a line, a byte, a path.
// Refused is what does not parse, and weights whose sum overflows 64 bits.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/import.h"
#include "import/profile_maker.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sample::imports {

// script_profiler_json.cpp

/// The script-profiler JSON, version 2, as export/script_profiler_json.h writes it: all of a
/// document. Node and function ids stay as they are, unless nodes that no category leads to had to
/// be left out. Unknown fields are skipped. Errors: `unsupported` for another version; with the
/// place ("node 4: …", ids 1-based) wrong types, missing fields, ids out of range, arrays of
/// different lengths, a node with two parents, cycles, two children of one node for one function.
/// A node with less time than its children is raised to their sum, and a note in `stats` says so.
/// O(text); no recursion over nodes, so trees may be as deep as memory allows.
[[nodiscard]] Result<callgraph::Profile> read_script_profiler_json(std::string_view text);

// script_profiler_tree.cpp

/// The script-profiler JSON, version 1: nodes inside of each other, under keys `source,name,line`.
///
///     {"Version":1,"Children":{"game.lua,update,12":{"TotalDuration":2530,"Children":{…}}}}
///
/// Durations are microseconds. Everything is below one category: the version has none. Times that
/// are too short are raised as in version 2. Errors, with the path to the node: a key that has not
/// three parts, one that comes twice, a duration that is missing, negative or too long. No
/// recursion, however deep the nodes are.
/// Source: nodeFromJSONV1 in tools/perfgraph.py of Luau, the format's one public reader.
[[nodiscard]] Result<callgraph::Profile> read_script_profiler_tree(std::string_view text,
                                                                   const Options& options);

// speedscope.cpp

/// speedscope's own files. Every profile of the file is a thread, and its name the category; "NAME
/// (pid 1, tid 2)" gives the ids. Weights are nanoseconds where the unit is one of time, and then
/// the file's times are kept, too: samples follow each other without gaps, a sample without frames
/// is a gap, evented profiles have times but no samples. Only profiles with the unit of the active
/// one are kept, and a note counts the others. Errors, with the place (profiles[0].events[7]): a
/// wrong type, a missing field, a frame that is not there, weights that are not as many as samples,
/// negative weights, an event before the one it follows, an end of a frame that is not the
/// innermost, a frame without its end.
/// Source: https://www.speedscope.app/file-format-schema.json.
[[nodiscard]] Result<callgraph::Profile> read_speedscope(std::string_view text,
                                                         const Options& options);

// pprof.cpp

/// The unpacked message of profile.proto, as Go, Parca and others write it. Of several sample types
/// the default one is kept (the last, where none is named), beside a count of samples; a note names
/// the others. Lines, inlined frames, modules with build-ids, and threads and processes from the
/// labels that are in use are kept; other labels are not. The file has no times of samples. Errors,
/// with the sample, location or function: an id that is 0, doubled or unknown; a string that is not
/// there; a sample with more or fewer values than types; a negative value; a line of more than 32
/// bits. Source: profile.proto of google/pprof.
[[nodiscard]] Result<callgraph::Profile> read_pprof(std::string_view bytes, const Options& options);
/// Whether `bytes` are such a message, as far as its outermost fields tell: all known, with a
/// sample type and a string table that begins with the empty string.
[[nodiscard]] bool is_pprof(std::string_view bytes);

// perf_script.cpp

/// What `perf script` prints. A sample weighs its period, or 1 where none is printed; periods of
/// cpu-clock and task-clock are nanoseconds. Only samples of the first event are kept, and a note
/// counts the others. Times are counted from the first sample's begin. A frame without a symbol is
/// called by its address. Errors, with the line: neither the head of a sample nor a frame nor a
/// comment; no sample at all.
[[nodiscard]] Result<callgraph::Profile> read_perf_script(std::string_view text,
                                                          const Options& options);
/// Whether the first line that is no comment is the head of a sample with its ids and time, or has
/// or is above a frame as perf prints it.
[[nodiscard]] bool is_perf_script(std::string_view text);

// folded.cpp

/// What the first frame of each line of folded stacks is; the format does not say.
enum class FirstFrame : std::uint8_t { function, thread };

/// Folded stacks: a line a stack, `root;…;leaf count`, as flame-graph scripts write and read them.
/// Counts are what the unit is: the file does not say what was counted, nor how many samples there
/// were. Marks that some scripts put behind names are understood: `_[i]` inlined, `_[j]` made at
/// run time, `_[k]` of the kernel. Errors, with the line: no count, or one that is no whole number
/// of 64 bits.
[[nodiscard]] Result<callgraph::Profile> read_folded(std::string_view text, FirstFrame first,
                                                     const Options& options);

// luau.cpp

/// What `luau --profile` writes to profile.out: a line a stack, its microseconds first.
///
///     1523 chess.lua,evaluate,120;chess.lua,search,80;=stdin,,
///
/// Frames are `source,name,line`, the innermost first. Time in the collector is a frame `GC,GC,`
/// before the function that it interrupted. Errors, with the line: no duration, a frame that has
/// not three parts, a line number of more than 32 bits.
/// Source: CLI/src/Profiler.cpp and tools/perfgraph.py of Luau.
[[nodiscard]] Result<callgraph::Profile> read_luau(std::string_view text, const Options& options);
/// Whether `line` is of this form.
[[nodiscard]] bool is_luau_line(std::string_view line);
/// A function as Luau's tools write it. Name and line may be empty; a source may have commas. None
/// if there are not three parts, or the line is no number of 32 bits. The views are into `text`.
[[nodiscard]] std::optional<FunctionKey> source_name_line(std::string_view text);

// cpu_profile.cpp

/// A .cpuprofile of V8, as Node.js and Chrome's developer tools write it, also inside of `profile`,
/// as the protocol has it. A sample lasts until the next one, by the wall clock; without timeDeltas
/// the hits of the nodes are counted. "(program)", "(idle)" and "(garbage collector)" are
/// functions,
/// "(root)" is none. Errors, with the place (nodes[7], samples[3], node 4): a wrong type, a missing
/// field, ids that come twice or are not there, two parents, a circle, more samples than
/// timeDeltas. Source: the types Profile and ProfileNode of the Chrome DevTools Protocol's Profiler
/// domain.
[[nodiscard]] Result<callgraph::Profile> read_cpu_profile(std::string_view text,
                                                          const Options& options);

// callgrind.cpp

/// What callgrind and cachegrind write. Of several events Ir is kept, else the first; a note counts
/// the others. The stacks are estimated, as callgrind.cpp says, and a note says so; lines are not
/// kept. Errors, with the line: costs that are no numbers, names that were not given, what is
/// neither. Source: "Callgrind Format Specification" of Valgrind.
[[nodiscard]] Result<callgraph::Profile> read_callgrind(std::string_view text,
                                                        const Options& options);
/// Whether it begins with the format's name, or its first lines have events and then a function.
[[nodiscard]] bool is_callgrind(std::string_view text);

}  // namespace sample::imports

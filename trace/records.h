// The records of a recording, as plain values: what the writer takes and what a reader is handed.
//
// The container below (docs/format-utrace.md) is generic; these are the events that `sample` itself
// defines in it. Times are CLOCK_MONOTONIC nanoseconds of the recording machine, weights are
// nanoseconds of the session's clock (thread CPU time, or wall time). Where a session counts an
// event instead (SessionStart::unit), weights, and whatever is called a weight or period in
// nanoseconds here, are its occurrences. Ids are dense, start at 1, and are defined before they are
// used.
#pragma once

#include "core/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sample::trace {

enum class Clock : std::uint8_t { cpu, wall };

struct SessionStart {
    std::uint64_t start_ns = 0;       ///< CLOCK_MONOTONIC when sampling began.
    std::uint64_t start_unix_ns = 0;  ///< The same instant on CLOCK_REALTIME.
    std::uint64_t period_ns = 0;
    std::uint32_t requested_hz = 0;
    Clock clock = Clock::cpu;
    std::string source;  ///< "sigtrap", "perf", …
    std::string
        source_reason;         ///< Why this source and not the first one; empty if it is the first.
    std::string command_line;  ///< As typed, space separated.
    std::string tool_version;
    std::string event = {};  ///< The perf event that was sampled, if it is not the usual clock.
    /// What weights count, in the plural ("page-faults"); empty: they are nanoseconds.
    std::string unit = {};
};

/// One image of a process. An exec makes a new ProcessId for the same pid.
struct Process {
    ProcessId id;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint64_t start_ns = 0;
    std::string executable;  ///< Absolute path, as the kernel names it.
    std::string command_line;
    std::string source;         ///< The source that this process is sampled with.
    std::string source_reason;  ///< Why it differs from the first choice; empty if it does not.
};

enum class EndKind : std::uint8_t {
    exited,         ///< code = exit status
    signaled,       ///< code = signal number
    replaced,       ///< by an exec
    still_running,  ///< The session ended first.
    unknown,
};

/// What is known of a process when it, or its recording, is over.
struct ProcessEnd {
    ProcessId id;
    EndKind kind = EndKind::unknown;
    std::int32_t code = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t cpu_ns =
        0;                   ///< The kernel's CPU time of the process for this image; 0 if unknown.
    std::uint64_t lost = 0;  ///< Samples that were dropped; their weight went to the next sample.
    std::uint64_t handler_count = 0;
    std::uint64_t handler_sum_ns = 0;
    std::uint64_t handler_p99_ns = 0;
    std::uint64_t agent_rss_bytes =
        0;  ///< Memory that the agent added to the process, at its highest.
    std::uint64_t unwind_table_bytes =
        0;  ///< Unwind tables and caches in the process, at their highest; 0 if unknown.
};

/// A program that ran without the agent, and so without samples.
struct UnprofiledProgram {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint64_t start_ns = 0;
    std::string executable;  ///< As whoever started it named it.
    std::string reason;      ///< For people.
};

struct Thread {
    ThreadId id;
    ProcessId process;
    std::uint32_t tid = 0;
    std::uint64_t start_ns = 0;
    std::string name;
};

/// A thread's name became known or changed.
struct ThreadName {
    ThreadId id;
    std::string name;
};

enum class ModuleKind : std::uint8_t {
    elf,  ///< `path` is a file (or was one); addresses are its ELF virtual addresses.
    vdso,
    jit,     ///< Machine code made at run time. `path` ends in ".map": a process's perf map, and
             ///< addresses are the process's own. Else a jitdump: an address is where the byte of
             ///< code lies in the file, and `build_id` is the writer's pid and the file's time.
    pseudo,  ///< Not code: `path` is what to show, e.g. "[not sampled]". The address is 0, but for
             ///< kStackIncomplete, where it is the StackBreak.
    kernel,  ///< `path` is "[kernel]"; addresses lack their two highest bits, which are set in
             ///< every kernel address. `build_id` is the boot's id: where the kernel lies is the
             ///< boot's choice.
};

/// One file of code. The same for all processes that map the same file.
struct Module {
    ModuleId id;
    ModuleKind kind = ModuleKind::elf;
    bool plugin = false;  ///< Brought by dlopen after the start.
    std::string path;
    std::vector<std::uint8_t> build_id;
};

/// A module's place in one process, for readers that want raw addresses.
struct ModuleLoad {
    ModuleId module;
    ProcessId process;
    std::uint64_t base = 0;   ///< Run-time address minus ELF virtual address.
    std::uint64_t start = 0;  ///< First mapped byte.
    std::uint64_t size = 0;
    std::uint64_t time_ns = 0;
};

/// One stack: the frames of `parent` (callers) and below it one more address, to be looked up as it
/// stands: the leaf's pc, or an address inside the call instruction. parent 0 is the empty stack.
struct StackNode {
    NodeId id;
    NodeId parent;
    ModuleId module;
    std::uint64_t address = 0;  ///< In the module's own (ELF virtual) addresses; kGuessedFrame.
};

/// Set in StackNode::address: this frame, or one that was elided from its stack, was found without
/// unwind tables. It is no part of the address.
inline constexpr std::uint64_t kGuessedFrame = std::uint64_t{1} << 62;

/// One captured stack and the time that it stands for.
struct Sample {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    NodeId node;
    std::uint64_t weight_ns = 0;
};

/// Time that a clock measured but no stack was captured for; `node` is a pseudo module's node.
struct Booking {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    NodeId node;
    std::uint64_t weight_ns = 0;
};

/// The last event of a whole recording.
struct SessionEnd {
    std::uint64_t end_ns = 0;
    bool stopped_early =
        false;         ///< By --time, Ctrl-C, or because the command ended before its descendants.
    std::string note;  ///< Lines that a person should see, separated by '\n'; empty mostly.
};

/// The names of pseudo modules.
inline constexpr const char* kNotSampled =
    "[not sampled]";  ///< A clock's rest: shorter than a period.
inline constexpr const char* kBeforeStart = "[before sampling]";  ///< exec, the loader.
inline constexpr const char* kKernelUnseen = "[kernel, caller unseen]";
/// Root of stacks that broke off; its address is the StackBreak.
inline constexpr const char* kStackIncomplete = "[stack incomplete]";
/// Root of stacks past the depth limit whose root end is not known.
inline constexpr const char* kStackTruncated = "[stack truncated]";
/// Between the root end and the leaf end of a stack past the depth limit.
inline constexpr const char* kFramesElided = "[frames elided]";
// For the wall clock: ready to run, and asleep in a place that nobody has seen.
inline constexpr const char* kWaitsForProcessor = "[waiting for a processor]";
inline constexpr const char* kWaitNotSeen = "[waiting, stack not seen]";
/// CPU time of ours inside the program.
inline constexpr const char* kSamplingThread = "[sampling thread]";
/// What code made at run time is shown as being part of: the files that name it are many.
inline constexpr const char* kJitCode = "[jit]";
inline constexpr const char* kUnknownCode = "[unknown]";  ///< An address in no known module.

}  // namespace sample::trace

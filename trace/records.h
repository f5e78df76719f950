// The records of a recording, as plain values, each with its description as an event: what a sink
// takes (trace/record_sink.h), and what a file holds.
//
// The container below (docs/format-utrace.md) is generic; these are the events that `sample` itself
// defines in it. Times are CLOCK_MONOTONIC nanoseconds of the recording machine. Weights and
// periods are of a metric: nanoseconds of the session's clock (thread CPU time, or wall time), or
// what else is counted. Ids are dense, start at 1, and are defined before they are used.
//
// A new record: a struct with its kType here, a place in Record, and whoever is to understand it.
#pragma once

#include "core/ids.h"
#include "trace/record_type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sample::trace {

/// What Sample.Session's Version may say. A reader refuses a greater one. 2: kGuessedFrame.
/// 3: weights are not time; only such a recording says so.
inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::uint16_t kVersionOfTime = 2;

inline constexpr std::size_t kMaxCommandLineBytes = std::size_t{16} * 1024;
inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxBuildIdBytes = 256;

enum class Clock : std::uint8_t { cpu, wall };

struct SessionStart {
    std::uint64_t start_ns = 0;       ///< CLOCK_MONOTONIC when sampling began.
    std::uint64_t start_unix_ns = 0;  ///< The same instant on CLOCK_REALTIME.
    std::uint64_t period = 0;         ///< What most samples weigh.
    std::uint32_t requested_hz = 0;
    Clock clock = Clock::cpu;
    std::string source;  ///< "sigtrap", "perf", …
    std::string
        source_reason;         ///< Why this source and not the first one; empty if it is the first.
    std::string command_line;  ///< As typed, space separated.
    std::string tool_version;
    std::string event = {};  ///< The perf event that was sampled, if it is not the usual clock.
    /// What weights of the session's own metric count, in the plural ("page-faults"); empty: they
    /// are nanoseconds of `clock`.
    std::string unit = {};
    std::uint16_t version = kVersionOfTime;  ///< The writer sees to it.
};
template <>
inline constexpr auto kType<SessionStart> = record_type(
    32, "Session", number("Version", &SessionStart::version),
    number("StartTime", &SessionStart::start_ns),
    number("StartUnixTime", &SessionStart::start_unix_ns), number("Period", &SessionStart::period),
    number("RequestedHz", &SessionStart::requested_hz),
    choice("Clock", &SessionStart::clock, Clock::wall, Clock::cpu),
    text("Source", &SessionStart::source), text("SourceReason", &SessionStart::source_reason),
    text("CommandLine", &SessionStart::command_line, kMaxCommandLineBytes),
    text("ToolVersion", &SessionStart::tool_version), text("Event", &SessionStart::event),
    text("Unit", &SessionStart::unit));

/// The metric that the session samples by; SessionStart describes it.
inline constexpr MetricId kSessionMetric{1};

/// A quantity beside the session's own. The ids of these start at 2.
struct Metric {
    MetricId id;
    std::string name;     ///< What people ask for: "wall", "allocated".
    std::string unit;     ///< What is counted, in the plural ("bytes"); empty: nanoseconds.
    std::string meaning;  ///< A line for people: what a sample's weight says.
};
template <>
inline constexpr auto kType<Metric> = record_type(46, "Metric", defined("MetricId", &Metric::id),
                                                  text("Name", &Metric::name),
                                                  text("Unit", &Metric::unit),
                                                  text("Meaning", &Metric::meaning));

/// Process::source of one without an agent: what it spent is booked.
inline constexpr const char* kNoSource = "none";
/// The source of a session, or of a process in it, that is not to be sampled.
inline constexpr const char* kSourceOff = "off";

/// The source of a session, or of a process, that was watched from outside.
inline constexpr const char* kAttachSource = "attach";

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
template <>
inline constexpr auto kType<Process> =
    record_type(34, "Process", defined("ProcessId", &Process::id), number("Pid", &Process::pid),
                number("ParentPid", &Process::parent_pid), number("StartTime", &Process::start_ns),
                text("Executable", &Process::executable, kMaxPathBytes),
                text("CommandLine", &Process::command_line, kMaxCommandLineBytes),
                text("Source", &Process::source), text("SourceReason", &Process::source_reason));

enum class EndKind : std::uint8_t {
    exited,         ///< code = exit status
    signaled,       ///< code = signal number
    replaced,       ///< by an exec
    still_running,  ///< The session ended first.
    unknown,
};

/// A CPU time that is known, and none, as 0 says that it is not known.
inline constexpr std::uint64_t kNoCpuTime = 1;

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
    std::uint64_t agent_cpu_ns = 0;  ///< Of a thread of the agent's own, which is not in cpu_ns.
    std::uint64_t sent = 0;          ///< Samples that the sampling thread sent for,
    std::uint64_t way_ns = 0;        ///< the CPU time that threads used from then to the sample,
    std::uint64_t late = 0;          ///< and those where that was much, or which met a thread
                                     ///< without a processor at a system call's end.
};
template <>
inline constexpr auto kType<ProcessEnd> =
    record_type(35, "ProcessEnd", known("ProcessId", &ProcessEnd::id),
                choice("Kind", &ProcessEnd::kind, EndKind::unknown, EndKind::unknown),
                number("Code", &ProcessEnd::code), number("EndTime", &ProcessEnd::end_ns),
                number("CpuTime", &ProcessEnd::cpu_ns), number("Lost", &ProcessEnd::lost),
                number("HandlerCount", &ProcessEnd::handler_count),
                number("HandlerSum", &ProcessEnd::handler_sum_ns),
                number("HandlerP99", &ProcessEnd::handler_p99_ns),
                number("AgentRss", &ProcessEnd::agent_rss_bytes),
                number("UnwindTables", &ProcessEnd::unwind_table_bytes),
                number("AgentCpu", &ProcessEnd::agent_cpu_ns), number("Sent", &ProcessEnd::sent),
                number("SignalWay", &ProcessEnd::way_ns), number("Late", &ProcessEnd::late));

/// A program that ran without the agent, and so without samples.
struct UnprofiledProgram {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint64_t start_ns = 0;
    std::string executable;  ///< As whoever started it named it.
    std::string reason;      ///< For people.
};
template <>
inline constexpr auto kType<UnprofiledProgram> =
    record_type(42, "Unprofiled", number("Pid", &UnprofiledProgram::pid),
                number("ParentPid", &UnprofiledProgram::parent_pid),
                number("StartTime", &UnprofiledProgram::start_ns),
                text("Executable", &UnprofiledProgram::executable, kMaxPathBytes),
                text("Reason", &UnprofiledProgram::reason));

struct Thread {
    ThreadId id;
    ProcessId process;
    std::uint32_t tid = 0;
    std::uint64_t start_ns = 0;
    std::string name;
};
template <>
inline constexpr auto kType<Thread> = record_type(36, "Thread", defined("ThreadId", &Thread::id),
                                                  known("ProcessId", &Thread::process),
                                                  number("Tid", &Thread::tid),
                                                  number("StartTime", &Thread::start_ns),
                                                  text("Name", &Thread::name));

/// A thread's name became known or changed.
struct ThreadName {
    ThreadId id;
    std::string name;
};
template <>
inline constexpr auto kType<ThreadName> = record_type(37, "ThreadName",
                                                      known("ThreadId", &ThreadName::id),
                                                      text("Name", &ThreadName::name));

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
template <>
inline constexpr auto kType<Module> =
    record_type(38, "Module", defined("ModuleId", &Module::id),
                choice("Kind", &Module::kind, ModuleKind::kernel, ModuleKind::pseudo),
                number("IsPlugin", &Module::plugin), text("Path", &Module::path, kMaxPathBytes),
                bytes("BuildId", &Module::build_id, kMaxBuildIdBytes));

/// A module's place in one process, for readers that want raw addresses.
struct ModuleLoad {
    ModuleId module;
    ProcessId process;
    std::uint64_t base = 0;   ///< Run-time address minus ELF virtual address.
    std::uint64_t start = 0;  ///< First mapped byte.
    std::uint64_t size = 0;
    std::uint64_t time_ns = 0;
};
template <>
inline constexpr auto kType<ModuleLoad> = record_type(39, "ModuleLoad",
                                                      known("ModuleId", &ModuleLoad::module),
                                                      known("ProcessId", &ModuleLoad::process),
                                                      number("Base", &ModuleLoad::base),
                                                      number("Start", &ModuleLoad::start),
                                                      number("Size", &ModuleLoad::size),
                                                      number("Time", &ModuleLoad::time_ns));

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

/// One captured stack and what it stands for; or, booked, what was measured without a stack: then
/// `node` is a pseudo module's.
struct Sample {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    NodeId node;
    std::uint64_t weight = 0;  ///< Of `metric`.
    bool is_booking = false;
    MetricId metric = kSessionMetric;
};

/// The last event of a whole recording.
struct SessionEnd {
    std::uint64_t end_ns = 0;
    bool stopped_early =
        false;         ///< By --time, Ctrl-C, or because the command ended before its descendants.
    std::string note;  ///< Lines that a person should see, separated by '\n'; empty mostly.
    std::uint64_t handler_p99_ns = 0;  ///< Of all processes' samples together; 0 if unknown.
    /// What a sample costs its thread on this machine, by the session's source: the signal, by the
    /// median of some tries, and the handler; and where it lies at 95 of 100. 0 if unknown.
    std::uint64_t sample_cost_ns = 0;
    std::uint64_t sample_cost_low_ns = 0;
    std::uint64_t sample_cost_high_ns = 0;
    std::string other_source = {};  ///< That costs less here; empty: none is known.
    std::uint64_t other_cost_ns = 0;
};
template <>
inline constexpr auto kType<SessionEnd> = record_type(
    33, "SessionEnd", number("EndTime", &SessionEnd::end_ns),
    number("StoppedEarly", &SessionEnd::stopped_early),
    number("HandlerP99", &SessionEnd::handler_p99_ns),
    number("SampleCost", &SessionEnd::sample_cost_ns),
    number("SampleCostLow", &SessionEnd::sample_cost_low_ns),
    number("SampleCostHigh", &SessionEnd::sample_cost_high_ns),
    number("OtherCost", &SessionEnd::other_cost_ns), text("OtherSource", &SessionEnd::other_source),
    text("Note", &SessionEnd::note, kMaxPathBytes));

/// Any record but nodes and samples, of which there are so many that they travel by themselves.
using Record = std::variant<SessionStart, Metric, Process, ProcessEnd, UnprofiledProgram, Thread,
                            ThreadName, Module, ModuleLoad, SessionEnd>;

/// Definitions of stack nodes, ids counting up from `first`: trace/node_codec.h.
struct StackNodes {
    std::uint32_t first = 0;
    std::span<const std::byte> data;
};
template <>
inline constexpr auto kType<StackNodes> = stream_type(40, "StackNodes",
                                                      number("First", &StackNodes::first),
                                                      bytes("Data", &StackNodes::data));

/// Samples of one thread and metric: trace/batch_codec.h.
struct SampleBatch {
    ThreadId thread;
    std::uint64_t start_ns = 0;
    std::uint64_t period = 0;
    std::uint8_t metric = 0;  ///< The metric's id - 1: the session's own is 0.
    std::span<const std::byte> data;
};
template <>
inline constexpr auto kType<SampleBatch> = stream_type(41, "SampleBatch",
                                                       known("ThreadId", &SampleBatch::thread),
                                                       number("StartTime", &SampleBatch::start_ns),
                                                       number("Period", &SampleBatch::period),
                                                       number("Metric", &SampleBatch::metric),
                                                       bytes("Data", &SampleBatch::data));

/// The names of pseudo modules.
inline constexpr const char* kNotSampled =
    "[not sampled]";  ///< A clock's rest: shorter than a period.
/// CPU time of threads that came when no more could be sampled.
inline constexpr const char* kTooManyThreads = "[not sampled: too many threads]";
/// CPU time of the kernel's threads that serve a process's io_uring; they have no code of its.
inline constexpr const char* kRingWorker = "[io_uring worker]";
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
/// With the waking thread's name and number, and "]", behind it: the innermost frame of a sleep.
inline constexpr const char* kWokenBy = "[woken by ";
/// CPU time of ours inside the program, in older recordings.
inline constexpr const char* kSamplingThread = "[sampling thread]";
/// With the program's name and "]" behind it: time of a process without an agent.
inline constexpr const char* kNotProfiled = "[not profiled: ";
/// What code made at run time is shown as being part of: the files that name it are many.
inline constexpr const char* kJitCode = "[jit]";
inline constexpr const char* kUnknownCode = "[unknown]";  ///< An address in no known module.

}  // namespace sample::trace

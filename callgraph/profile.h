// The Profile: a callgraph of nodes and functions with total durations, named, ready to be shown or
// exported. Everything above floor 2 reads this and nothing else.
//
// Nodes form one tree. Node 0 is the root; its children are the categories' nodes (no function);
// below them every node is one function reached by one path. Under one node there is at most one
// child per function (in a profile by lines: per function and line). Weights are of the profile's
// metric: nanoseconds, or what is counted; whoever shows microseconds floors at the edge, so that
// children never exceed their parent. total = self + the children's totals, exactly. What is named
// _ns is time whatever the metric.
#pragma once

#include "callgraph/timeline.h"
#include "core/ids.h"
#include "core/stack_break.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::callgraph {

/// Function flags, as in the version-2 script-profiler format.
// NOLINTBEGIN(readability-identifier-naming): used as constants, combined bit by bit
enum FunctionFlags : std::uint32_t {
    kNoFlags = 0,
    kNative = 1,  ///< Machine code generated at run time (JIT).
    kPlugin = 2,  ///< Code of a module brought by dlopen after the start.
    kZone = 4,    ///< No code, but a stretch of time that the program itself has named.
};
// NOLINTEND(readability-identifier-naming)

/// A file of code.
struct CodeModule {
    std::string name;      ///< The path's last part, or "[jit]"; empty: unknown, or no code.
    std::string path;      ///< Empty: unknown.
    std::string build_id;  ///< Lower-case hexadecimal; empty: unknown.
};

/// What the function of Profile::memory is called.
inline constexpr std::string_view kMemoryName = "[memory]";

struct Function {
    std::string name;        ///< Empty: unnamed; show source:line, or "<anonymous>".
    std::string source;      ///< Source file, or else the module; empty if unknown.
    std::uint32_t line = 0;  ///< Where the function begins; 0 if unknown.
    std::uint32_t flags = kNoFlags;
    std::uint32_t module = 0;  ///< Index into Profile::modules.
    std::string linkage_name;  ///< As the linker knows it; empty if unknown.
    std::uint64_t total = 0;   ///< Recursion counted once.
    std::uint64_t self = 0;
    std::uint64_t samples = 0;       ///< Samples in which it was on the stack.
    std::uint64_t self_samples = 0;  ///< Samples in which it was the leaf.
};

/// Where a tree ends that a small file asks for: some 3 GiB. A stack is there once in each
/// category, and upside down once for each of its frames.
inline constexpr std::size_t kMostNodes = std::size_t{1} << 24;

/// Whether the code of a node's function was inlined into its caller.
enum class Inlining : std::uint8_t {
    none,
    all,
    some,  ///< At some of the places where this caller calls it.
};

struct Node {
    NodeId parent;
    NodeId first_child;   ///< The heaviest one; none: it has none. See Profile::children().
    NodeId next_sibling;  ///< The next one below the same parent; none: it is the last.
    FunctionId function;  ///< None for the root and the categories' nodes.
    Inlining inlining = Inlining::none;
    /// Where its caller calls it; 0: unknown, or several lines.
    std::uint32_t call_line = 0;
    /// In a profile by lines, where the function itself was, or made the call that its children
    /// are; 0: unknown, in another file than its source, or not a profile by lines.
    std::uint32_t line = 0;
    std::uint64_t total = 0;
    std::uint64_t self = 0;
    std::uint64_t samples = 0;       ///< Below and at this node.
    std::uint64_t self_samples = 0;  ///< At this node.
};

/// The children of a node, heaviest first: good while the nodes stay where they are.
class Children {
public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = NodeId;
        using difference_type = std::ptrdiff_t;
        using pointer = const NodeId*;
        using reference = NodeId;

        Iterator(const Node* nodes, NodeId at) : nodes_{nodes}, at_{at} {}

        NodeId operator*() const { return at_; }
        Iterator& operator++() {
            at_ = nodes_[at_.value].next_sibling;
            return *this;
        }
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator& other) const { return at_ == other.at_; }

    private:
        const Node* nodes_;
        NodeId at_;
    };

    Children(const std::vector<Node>& nodes, const Node& parent)
        : nodes_{nodes.data()}, first_{parent.first_child} {}

    [[nodiscard]] Iterator begin() const { return {nodes_, first_}; }
    [[nodiscard]] Iterator end() const { return {nodes_, NodeId{}}; }
    [[nodiscard]] bool empty() const { return first_.is_none(); }

private:
    const Node* nodes_;
    NodeId first_;
};

struct Category {
    std::string name;
    NodeId node;
};

struct ThreadTotals {
    std::string name;
    std::string process;  ///< The executable's file name.
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::int64_t start_ns = 0;  ///< Since the session's start.
    std::uint64_t total = 0;    ///< Sampled and booked, of the metric.
    std::uint64_t samples = 0;
    std::uint64_t incomplete_stacks = 0;
};

struct ProcessTotals {
    std::string executable;
    std::string command_line;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string source;
    std::string source_reason;
    std::string ending;        ///< "exited with 0", "killed by SIGSEGV (11)", "still running", …
    bool ended_badly = false;  ///< Ended by a signal.
    /// By the kernel; where that is not known, sampled and booked, or 0 in a profile of an event.
    std::uint64_t cpu_ns = 0;
    std::int64_t start_ns = 0;           ///< Since the session's start.
    std::optional<std::int64_t> end_ns;  ///< The same; none: not known.
};

/// A program of the session that nothing is known of but that it ran.
struct UnprofiledProgram {
    std::string executable;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string reason;
};

/// Samples whose stacks end for one reason in one module.
struct BrokenStacks {
    StackBreak reason = StackBreak::unknown;
    /// Path of the file that the outermost known frame lies in. Empty: code in no module; or, at
    /// the depth limit, the stack's middle alone is missing.
    std::string module;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

/// How much programs say of themselves.
struct SaidCounts {
    std::uint64_t zones = 0;
    std::uint64_t frames = 0;
    std::uint64_t regions = 0;
    std::uint64_t counters = 0;
    std::uint64_t values = 0;  ///< Of counters.
    std::uint64_t messages = 0;
    std::uint64_t events = 0;  ///< Of their own.
};

/// What a profile was made of.
enum class Sampling : std::uint8_t {
    on,
    off,      ///< Of a recording that was to have no samples.
    foreign,  ///< Of another program's trace, which has none.
};

/// How trustworthy the figures are. Every figure is measured; what was not measured is nullopt.
struct Stats {
    Sampling sampling = Sampling::on;
    SaidCounts said;
    std::uint32_t requested_hz = 0;  ///< 0 in a profile of an event, or without samples.
    std::uint64_t period = 0;        ///< Occurrences that a sample stands for; 0 of time.
    std::optional<double>
        achieved_hz;  ///< Samples a second of CPU time (not known of the wall clock's).
    std::string source;
    std::string source_reason;
    std::string clock;
    std::uint64_t wall_ns = 0;
    std::optional<std::uint64_t> process_cpu_ns;  ///< By the kernel, all recorded processes.
    std::uint64_t unprofiled_cpu_ns = 0;          ///< Of that, of programs without an agent.
    std::uint64_t sampled = 0;                    ///< Weight of the samples.
    std::uint64_t booked = 0;                     ///< Time measured by a clock without a stack.
    std::uint64_t samples = 0;
    std::uint64_t recorded_samples = 0;  ///< With those that were not chosen; 0: all were.
    /// How many of one weight would tell shares as exactly; nullopt: not known, or some were not
    /// chosen.
    std::optional<double> effective_samples;
    bool counts_samples = true;  ///< False: a foreign file has weights, but no numbers of samples.
    std::uint64_t lost = 0;
    std::uint64_t truncated_stacks = 0;  ///< Deeper than the limit, and not incomplete.
    std::uint64_t truncated = 0;
    std::uint64_t incomplete_stacks = 0;  ///< Broken off before the thread's start.
    std::uint64_t incomplete = 0;
    std::vector<BrokenStacks> broken_stacks;  ///< Both, by reason and module, heaviest first.
    std::uint64_t guessed_stacks = 0;         ///< With a frame found without unwind tables.
    std::uint64_t guessed = 0;
    std::uint32_t threads = 0;
    std::uint32_t processes = 0;
    std::optional<double> handler_ns_mean;
    std::optional<std::uint64_t> handler_ns_p99;
    /// How long samples that the sampling thread sends for are on their way, by their thread's
    /// clock, and how many of them more than a tenth of a period; nullopt: none was sent for.
    std::optional<double> signal_way_ns_mean;
    std::uint64_t sent_samples = 0;
    std::uint64_t late_samples = 0;
    /// What a sample costs its thread, and where that lies at 95 of 100; nullopt: not measured.
    std::optional<double> sample_cost_ns;
    double sample_cost_low_ns = 0;
    double sample_cost_high_ns = 0;
    /// All that was recorded, and what of it sampling did not take: nullopt without a price.
    std::optional<std::uint64_t> gross;
    std::optional<std::uint64_t> net;
    std::uint64_t agent_cpu_ns = 0;  ///< Of the profiler's own threads in the program.
    std::optional<std::uint64_t> agent_rss_bytes;
    std::optional<std::uint64_t> unwind_table_bytes;
    bool whole = true;  ///< False: the end of the recording is missing.
    std::vector<std::string>
        notes;  ///< One line each, for people: what could not be seen, and what to do.

    /// A number of samples of the profile, if it is known.
    [[nodiscard]] std::optional<std::uint64_t> known_samples(std::uint64_t count) const {
        return counts_samples ? std::optional{count} : std::nullopt;
    }
};

/// A quantity that samples are weighed by.
struct Metric {
    std::string name;     ///< What people ask for: "cpu", "wall", "page-faults", "allocated".
    std::string unit;     ///< What is counted, in the plural ("bytes"); empty: nanoseconds.
    std::string meaning;  ///< A line for people, if the name does not say it.
};

/// What nodes themselves spent of another metric than the profile's own.
struct FurtherMetric {
    Metric metric;
    std::vector<std::uint64_t> selves;  ///< By node.
    std::optional<Timeline> timeline;   ///< As Profile::timeline.

    [[nodiscard]] std::uint64_t total() const { return std::reduce(selves.begin(), selves.end()); }
};

/// A stretch or a moment that the program itself has named.
struct Marker {
    std::string name;
    std::string kind;                     ///< "zone", "frame", "region", "bookmark", "log".
    std::optional<std::uint32_t> thread;  ///< Index into Profile::threads; none: unknown.
    std::int64_t begin_ns = 0;            ///< Since the session's start.
    std::int64_t end_ns = 0;              ///< The same as begin_ns of a moment.
};

/// A point that an arrow goes through: where its thread was at that time.
struct FlowPoint {
    enum class Step : std::uint8_t { begin, step, end };

    std::uint64_t flow = 0;    ///< Those of one number are one arrow.
    std::uint32_t thread = 0;  ///< Index into Profile::threads.
    std::int64_t time_ns = 0;  ///< Since the session's start.
    Step step = Step::begin;
};

/// A counter of the program's own: its values by time, each until the next.
struct CounterTrack {
    struct Point {
        std::int64_t time_ns = 0;  ///< Since the session's start.
        double value = 0;
    };
    std::string name;
    std::vector<Point> points;
    std::optional<std::uint32_t> pid;  ///< Whose it is; none: unknown.
    bool is_memory = false;            ///< Its values are bytes.
};

struct Profile {
    Metric metric;                ///< What the figures are of.
    std::vector<Metric> metrics;  ///< All that the recording has, that one among them.
    /// Those of the others that were asked for. Nodes and functions that only these have are in the
    /// profile, too, with totals of 0.
    std::vector<FurtherMetric> further;
    /// What was left out before all figures, and how much is left, for people; empty: nothing was.
    std::string restriction;
    /// How long the moments are together that were chosen; none: the whole session.
    std::optional<std::uint64_t> chosen_ns;
    std::string command_line;
    std::uint64_t start_unix_ms = 0;
    std::uint64_t end_unix_ms = 0;
    std::vector<Category> categories;
    std::vector<Node> nodes;                        ///< nodes[id.value]; nodes[0] is the root.
    std::vector<Function> functions;                ///< functions[id.value - 1].
    std::vector<CodeModule> modules{CodeModule{}};  ///< [Function::module]; [0] is the unknown one.
    /// The pseudo-function that stands for memory management; none where that has no node.
    std::optional<FunctionId> memory;
    std::vector<ThreadTotals> threads;
    std::vector<ProcessTotals> processes;
    std::vector<UnprofiledProgram> unprofiled;
    Stats stats;
    std::string event;  ///< The perf event that was sampled; empty: the usual clock.
    /// When the samples were taken; none where that is not known or was not asked for.
    std::optional<Timeline> timeline;
    /// Where they were asked for. Zones have a thread; those of one are nested.
    std::vector<Marker> markers;
    std::vector<FlowPoint> flows;        ///< The same, by time.
    std::vector<CounterTrack> counters;  ///< The same.
    bool by_line = false;                ///< A node for each line of a function: Node::line.
    bool is_net = false;                 ///< Without what sampling took: shown wherever it is so.
    double scale =
        1.0;  ///< What --average multiplied the durations by; shown wherever it is not 1.

    [[nodiscard]] bool is_time() const { return metric.unit.empty(); }
    [[nodiscard]] const Node& node(NodeId id) const { return nodes[id.value]; }
    [[nodiscard]] Children children(NodeId id) const { return {nodes, node(id)}; }
    [[nodiscard]] Children children(const Node& node) const { return {nodes, node}; }
    [[nodiscard]] const Function& function(FunctionId id) const { return functions[id.value - 1]; }
    [[nodiscard]] const CodeModule& module_of(const Function& function) const {
        return modules[function.module];
    }
};

}  // namespace sample::callgraph

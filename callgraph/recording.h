// A recording in memory, as far as a callgraph needs it: who was recorded, which stacks there are,
// and how much of each metric each thread spent in each of them. When a sample was taken is kept on
// demand alone; without, ten million samples need no more room than the distinct stacks among them.
//
// Records are fed in the recording's order. What they say is not trusted: a record that refers to
// an id that was never defined, or that would overflow the sum of all weights, is counted in
// bad_records() and loses at most its stack, never silently its time.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "callgraph/timeline.h"
#include "trace/attachments.h"
#include "trace/record_sink.h"
#include "trace/recording_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::callgraph {

/// A place in a program, to be symbolized: an address in the module's own (ELF virtual) addresses,
/// to be looked up as it stands.
struct CodeAddress {
    ModuleId module;
    std::uint64_t address = 0;
};

/// One stack: `parent`'s frames and below them addresses()[address].
struct StackFrame {
    NodeId parent;
    std::uint32_t address = 0;
};

/// What one thread spent in one stack, of one metric. Node none: the stack is not known.
struct StackWeight {
    ThreadId thread;
    NodeId node;
    std::uint64_t sampled = 0;
    std::uint64_t samples = 0;
    std::uint64_t booked = 0;  ///< Measured without a stack.
    std::uint32_t label = 0;   ///< Index into SampleLabels::labels.
};

/// What samples have in common beside thread and stack: what their program said meanwhile.
struct SampleLabel {
    std::string category;  ///< Of CategoryBy::label.
    /// The zones that were open, outermost first: indices into SampleLabels::zones.
    std::vector<std::uint32_t> zones;
};

/// A zone that is to have nodes in the callgraph.
struct ZoneNode {
    std::string name;
    std::string source;  ///< Empty: not known.
    std::uint32_t line = 0;
};

struct SampleLabels {
    std::vector<ZoneNode> zones;
    std::vector<SampleLabel> labels{SampleLabel{}};  ///< [0] is of what was not labelled.
};

/// The kernel cuts a thread's name to this. Source: TASK_COMM_LEN, prctl(2) PR_SET_NAME.
inline constexpr std::size_t kMaxThreadName = 15;

struct RecordedProcess {
    trace::Process facts;
    std::optional<trace::ProcessEnd> end;
};

/// A sink: of a file that is read back, or of a session that goes on. Not thread-safe.
class Recording final : public trace::RecordSink {
public:
    /// Samples that are added from now on keep their times: samples_of().
    void keep_times() { keeps_times_ = true; }

    void record(const trace::Record& record) override;
    void node(const trace::StackNode& record) override;
    void sample(const trace::Sample& sample) override;
    /// Adds what samples of `sum`'s thread and stack add up to, the last of them taken at
    /// `time_ns`; when is not kept. Returns its place in weights(metric); none: there is no such
    /// metric, or the sum of all would overflow.
    std::optional<std::uint32_t> add_sum(const StackWeight& sum, MetricId metric,
                                         std::uint64_t time_ns);
    void zone(const trace::ZoneEdge& edge) override {
        zones(edge.kind == trace::EdgeKind::begin ? 1 : 0);
    }
    [[nodiscard]] bool wants_edges() const override { return false; }
    void zones(std::uint64_t begun) override { said_.zones += begun; }
    void instrumentation(const trace::Instrumentation& said) override;
    void add(trace::Attachment&& attachment) { attachments_.push_back(std::move(attachment)); }

    /// Drops all other weights, with their samples, then the threads that have none left, and the
    /// processes without threads: ids are given anew. What the kernel counted for a process is gone
    /// where a weight of it is. Stacks and addresses stay. O(weights), and samples if they keep
    /// their times.
    void keep(const std::function<bool(const StackWeight&)>& is_wanted);

    /// What samples at so much each have taken of the session's metric: of each thread in each
    /// stack as many as fell there, and no more than it has.
    [[nodiscard]] std::uint64_t sampling_time(double cost_ns) const;
    /// Takes that out, and leaves each sample its part of the rest. O(weights), and samples if they
    /// keep their times.
    void take_out_sampling(double cost_ns);
    /// What that has taken out; nothing: it was not called.
    [[nodiscard]] std::optional<std::uint64_t> taken_out() const { return taken_out_; }
    /// Of that, what was one process's.
    [[nodiscard]] std::uint64_t taken_out_of(ProcessId id) const;

    /// Gives each sample the label that `label_of` says; none: the sample is dropped, with what
    /// keep() drops then. It is asked metric by metric, of each thread by thread, of a thread's
    /// samples in their order. Times must have been kept from the first sample on. O(samples).
    using LabelOf =
        std::function<std::optional<std::uint32_t>(MetricId, ThreadId, const TimedWeight&)>;
    void label(const LabelOf& label_of);
    /// What the labels are: indices into `labels.labels`.
    void set_labels(SampleLabels labels) { labels_ = std::move(labels); }

    /// Says what the reader met besides records.
    void set_read_outcome(trace::ReadOutcome outcome) { read_outcome_ = std::move(outcome); }

    [[nodiscard]] const std::optional<trace::SessionStart>& start() const { return start_; }
    [[nodiscard]] const std::optional<trace::SessionEnd>& end() const { return end_; }
    /// The latest time that any record names; CLOCK_MONOTONIC nanoseconds.
    [[nodiscard]] std::uint64_t last_time_ns() const { return last_time_ns_; }
    /// A record's time, counted from the session's start; nanoseconds.
    [[nodiscard]] std::int64_t since_start(std::uint64_t time_ns) const;
    /// Of a session that is not read from a file, without any problem.
    [[nodiscard]] const trace::ReadOutcome& read_outcome() const { return read_outcome_; }
    /// What its programs said of themselves.
    [[nodiscard]] const SaidCounts& said() const { return said_; }
    [[nodiscard]] std::uint64_t bad_records() const { return bad_records_; }

    /// Processes, threads and modules by id: [id.value - 1].
    [[nodiscard]] std::span<const RecordedProcess> processes() const { return processes_; }
    [[nodiscard]] std::span<const trace::Thread> threads() const { return threads_; }
    [[nodiscard]] std::span<const trace::UnprofiledProgram> unprofiled() const {
        return unprofiled_;
    }
    [[nodiscard]] std::span<const trace::Module> modules() const { return modules_; }
    /// nullptr where the id is none or was never defined.
    [[nodiscard]] const RecordedProcess* process(ProcessId id) const;
    [[nodiscard]] const trace::Thread* thread(ThreadId id) const;
    [[nodiscard]] const trace::Module* module_of(const CodeAddress& place) const;
    /// What people call a program or library: the name that it was started by, through a symbolic
    /// link for instance, if that was always the same; else the file's.
    [[nodiscard]] std::string_view name_of_file(std::string_view path) const;

    /// Stacks by id: [id.value - 1]. A parent's id is less than its child's.
    [[nodiscard]] std::span<const StackFrame> nodes() const { return nodes_; }
    /// True if the node's own frame was found without unwind tables. Its address is the same as
    /// that of a frame which was not.
    [[nodiscard]] bool is_guessed(NodeId id) const {
        return id.value < guessed_.size() && guessed_[id.value];
    }
    /// Every distinct address, in the order of its first appearance: what a symbolizer is asked.
    [[nodiscard]] std::span<const CodeAddress> addresses() const { return addresses_.entries(); }
    /// The quantities that samples are weighed by, by id: [id.value - 1]. The first is the
    /// session's own.
    [[nodiscard]] std::span<const trace::Metric> metrics() const { return metrics_; }
    [[nodiscard]] std::span<const StackWeight> weights(
        MetricId metric = trace::kSessionMetric) const;
    /// How many were recorded, whatever keep() has left of them.
    [[nodiscard]] std::uint64_t recorded_samples(MetricId metric) const;
    /// How many samples of one weight would tell shares as exactly as those; nothing: there were
    /// none, or some came as sums. Source: Kish, Survey Sampling, 11.7, "effective sample size".
    [[nodiscard]] std::optional<double> effective_samples(MetricId metric) const;
    /// The samples of a thread (or of none), their places indices into weights() of the same
    /// metric; nullptr: it has none, or times were not kept.
    [[nodiscard]] std::shared_ptr<const SampleSeries> samples_of(
        ThreadId thread, MetricId metric = trace::kSessionMetric) const;
    [[nodiscard]] const SampleLabels& labels() const { return labels_; }
    /// What the recording carries besides, in its order; a module may be undefined.
    [[nodiscard]] std::span<const trace::Attachment> attachments() const { return attachments_; }

private:
    struct AddressTraits {
        static std::uint64_t hash(const CodeAddress& place) {
            return hash_pair(place.module.value, place.address);
        }
        static bool equal(const CodeAddress& left, const CodeAddress& right) {
            return left.address == right.address && left.module == right.module;
        }
    };
    struct WeightTraits {
        static std::uint64_t hash(const StackWeight& weight) {
            return mix_bits(((std::uint64_t{weight.thread.value} << 32) | weight.node.value) +
                            weight.label * 0x9e3779b97f4a7c15U);
        }
        static bool equal(const StackWeight& left, const StackWeight& right) {
            return left.node == right.node && left.thread == right.thread &&
                   left.label == right.label;
        }
    };

    /// What was spent of one metric.
    struct Spent {
        InternTable<StackWeight, WeightTraits> weights;
        std::vector<std::shared_ptr<SampleSeries>> series;  ///< By thread's id; nullptr: none.
        /// By node: where its latest sample's thread has its entry. Nodes that were defined
        /// together are sampled together, so this stays in the processor's cache where a hash table
        /// does not.
        std::vector<std::uint32_t> latest_weight;
        std::uint64_t sum = 0;
        std::uint64_t recorded_samples = 0;
        double sampled = 0;  ///< The sum of their weights,
        double squares = 0;  ///< and of the squares of those.
        bool has_sums = false;
    };

    void add(const trace::SessionStart& start);
    void add(const trace::SessionEnd& record);
    void add(const trace::Metric& record);
    void add(const trace::Process& record);
    void add(const trace::ProcessEnd& record);
    void add(const trace::UnprofiledProgram& record);
    void add(const trace::Thread& record);
    void add(const trace::ThreadName& record);
    void add(const trace::Module& record);
    /// Where a module was mapped makes no difference to a callgraph.
    void add(const trace::ModuleLoad& /*load*/) {}

    /// The wanted weights of `spent`, their threads renamed: `threads` by old id.
    [[nodiscard]] static Spent wanted_of(const Spent& spent,
                                         const std::function<bool(const StackWeight&)>& is_wanted,
                                         const std::vector<ThreadId>& threads);
    /// Moves the thread's samples of `spent` to `labelled`; false: some are dropped.
    bool label_thread(const LabelOf& label_of, MetricId metric, ThreadId thread, const Spent& spent,
                      Spent& labelled);
    /// What a process's clock said is of all its samples; some are dropped.
    void forget_cpu_time(ThreadId thread);
    void saw_time(std::uint64_t time_ns);
    void saw_main_thread(const trace::Thread& thread, const trace::Process& process);
    void keep_time(Spent& spent, const StackWeight& place, const trace::Sample& sample);
    /// The entry to add a sample to; nullptr if the sum of all weights would overflow.
    StackWeight* weight_of(Spent& spent, const trace::Sample& sample);

    std::optional<trace::SessionStart> start_;
    std::optional<trace::SessionEnd> end_;
    std::vector<RecordedProcess> processes_;
    std::vector<trace::UnprofiledProgram> unprofiled_;
    std::map<std::string, std::string, std::less<>> started_as_;  ///< By path: name_of_file().
    std::vector<trace::Thread> threads_;
    std::vector<trace::Module> modules_;
    std::vector<StackFrame> nodes_;
    std::vector<bool> guessed_;  ///< By id; ends with the last node that is.
    InternTable<CodeAddress, AddressTraits> addresses_;
    std::vector<trace::Metric> metrics_;
    std::vector<Spent> spent_;  ///< By MetricId - 1.
    SampleLabels labels_;
    std::uint64_t last_time_ns_ = 0;
    bool keeps_times_ = false;
    std::optional<std::uint64_t> taken_out_;
    std::vector<std::uint64_t> taken_out_of_;  ///< By process: [id.value - 1].
    std::vector<trace::Attachment> attachments_;
    trace::ReadOutcome read_outcome_;
    SaidCounts said_;
    std::uint64_t bad_records_ = 0;
};

}  // namespace sample::callgraph

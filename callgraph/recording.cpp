#include "callgraph/recording.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sample::callgraph {

namespace {

/// Puts `value` at its dense, 1-based id; a second definition replaces the first. False if ids were
/// left out before it.
template <class Value>
bool define(std::vector<Value>& table, std::uint32_t id, Value value) {
    if (id == 0 || id > table.size() + 1) {
        return false;
    }
    if (id <= table.size()) {
        table[id - 1] = std::move(value);
    } else {
        table.push_back(std::move(value));
    }
    return true;
}

bool is_defined(std::uint32_t id, std::size_t size) {
    return id != 0 && id <= size;
}

}  // namespace

void Recording::record(const trace::Record& record) {
    std::visit([this](const auto& one) { add(one); }, record);
}

void Recording::add(const trace::SessionStart& start) {
    start_ = start;
    trace::Metric own;
    own.id = trace::kSessionMetric;
    own.unit = start.unit;
    own.name = !start.event.empty()                ? start.event
               : start.clock == trace::Clock::wall ? "wall"
                                                   : "cpu";
    metrics_.assign(1, own);
    spent_.resize(1);
}

void Recording::add(const trace::SessionEnd& record) {
    end_ = record;
    saw_time(record.end_ns);
}

void Recording::add(const trace::Metric& record) {
    if (define(metrics_, record.id.value, record)) {
        spent_.resize(metrics_.size());
    } else {
        ++bad_records_;
    }
}

void Recording::add(const trace::Process& record) {
    saw_time(record.start_ns);
    if (!define(processes_, record.id.value, RecordedProcess{record, std::nullopt})) {
        ++bad_records_;
    }
}

void Recording::add(const trace::ProcessEnd& record) {
    saw_time(record.end_ns);
    if (is_defined(record.id.value, processes_.size())) {
        processes_[record.id.value - 1].end = record;
    } else {
        ++bad_records_;
    }
}

void Recording::add(const trace::UnprofiledProgram& record) {
    saw_time(record.start_ns);
    unprofiled_.push_back(record);
}

void Recording::add(const trace::Thread& record) {
    saw_time(record.start_ns);
    if (!define(threads_, record.id.value, record)) {
        ++bad_records_;
    }
}

void Recording::add(const trace::ThreadName& record) {
    if (is_defined(record.id.value, threads_.size())) {
        threads_[record.id.value - 1].name = record.name;
    } else {
        ++bad_records_;
    }
}

void Recording::add(const trace::Module& record) {
    if (!define(modules_, record.id.value, record)) {
        ++bad_records_;
    }
}

void Recording::node(const trace::StackNode& record) {
    const std::uint32_t next = static_cast<std::uint32_t>(nodes_.size()) + 1;
    if (record.id.value != next || record.parent.value >= next) {
        ++bad_records_;
        return;
    }
    const std::uint64_t address = record.address & ~trace::kGuessedFrame;
    nodes_.push_back({record.parent, addresses_.intern({record.module, address})});
    if (address != record.address) {
        guessed_.resize(std::size_t{next} + 1);
        guessed_[next] = true;
    }
}

void Recording::sample(const trace::Sample& sample) {
    saw_time(sample.time_ns);
    if (!is_defined(sample.metric.value, spent_.size())) {
        ++bad_records_;
        return;
    }
    Spent& spent = spent_[sample.metric.value - 1];
    if (StackWeight* weight = weight_of(spent, sample)) {
        (sample.is_booking ? weight->booked : weight->sampled) += sample.weight;
        weight->samples += sample.is_booking ? 0 : 1;
        if (keeps_times_) {
            keep_time(spent, *weight, sample);
        }
    }
}

std::span<const StackWeight> Recording::weights(MetricId metric) const {
    return is_defined(metric.value, spent_.size()) ? spent_[metric.value - 1].weights.entries()
                                                   : std::span<const StackWeight>{};
}

std::shared_ptr<const SampleSeries> Recording::samples_of(ThreadId thread, MetricId metric) const {
    if (!is_defined(metric.value, spent_.size())) {
        return nullptr;
    }
    const auto& series = spent_[metric.value - 1].series;
    return thread.value < series.size() ? series[thread.value] : nullptr;
}

void Recording::set_read_outcome(std::string problem, std::uint64_t unknown_events,
                                 std::string attachments_problem) {
    problem_ = std::move(problem);
    attachments_problem_ = std::move(attachments_problem);
    unknown_events_ = unknown_events;
}

const RecordedProcess* Recording::process(ProcessId id) const {
    return is_defined(id.value, processes_.size()) ? &processes_[id.value - 1] : nullptr;
}

const trace::Thread* Recording::thread(ThreadId id) const {
    return is_defined(id.value, threads_.size()) ? &threads_[id.value - 1] : nullptr;
}

const trace::Module* Recording::module_of(const CodeAddress& place) const {
    return is_defined(place.module.value, modules_.size()) ? &modules_[place.module.value - 1]
                                                           : nullptr;
}

std::int64_t Recording::since_start(std::uint64_t time_ns) const {
    return static_cast<std::int64_t>(time_ns - (start_ ? start_->start_ns : 0));
}

void Recording::keep_time(Spent& spent, const StackWeight& place, const trace::Sample& sample) {
    if (spent.series.size() <= place.thread.value) {
        spent.series.resize(threads_.size() + 1);
    }
    std::shared_ptr<SampleSeries>& series = spent.series[place.thread.value];
    if (series == nullptr) {
        series = std::make_shared<SampleSeries>();
    }
    const auto index = static_cast<std::uint32_t>(&place - spent.weights.entries().data());
    series->append({since_start(sample.time_ns), index, sample.weight, sample.is_booking});
}

void Recording::saw_time(std::uint64_t time_ns) {
    last_time_ns_ = std::max(last_time_ns_, time_ns);
}

StackWeight* Recording::weight_of(Spent& spent, const trace::Sample& sample) {
    if (sample.weight > std::numeric_limits<std::uint64_t>::max() - spent.sum) {
        ++bad_records_;
        return nullptr;
    }
    spent.sum += sample.weight;
    ThreadId thread = sample.thread;
    NodeId node = sample.node;
    if (!is_defined(thread.value, threads_.size()) || node.value > nodes_.size()) {
        ++bad_records_;
        thread = is_defined(thread.value, threads_.size()) ? thread : ThreadId{};
        node = node.value > nodes_.size() ? NodeId{} : node;
    }
    if (spent.latest_weight.size() <= node.value) {
        spent.latest_weight.resize(nodes_.size() + 1);
    }
    std::uint32_t& latest = spent.latest_weight[node.value];
    if (latest >= spent.weights.size() || spent.weights[latest].node != node ||
        spent.weights[latest].thread != thread) {
        latest = spent.weights.intern({thread, node});
    }
    return &spent.weights[latest];
}

}  // namespace sample::callgraph

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

void Recording::add(const trace::SessionEnd& record) {
    end_ = record;
    saw_time(record.end_ns);
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

void Recording::add(const trace::StackNode& record) {
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

void Recording::add(const trace::Sample& record) {
    saw_time(record.time_ns);
    if (StackWeight* weight = weight_of(record.thread, record.node, record.weight_ns)) {
        weight->sampled_ns += record.weight_ns;
        ++weight->samples;
        keep(*weight, record.time_ns, record.weight_ns, false);
    }
}

void Recording::add(const trace::Booking& record) {
    saw_time(record.time_ns);
    if (StackWeight* weight = weight_of(record.thread, record.node, record.weight_ns)) {
        weight->booked_ns += record.weight_ns;
        keep(*weight, record.time_ns, record.weight_ns, true);
    }
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

void Recording::keep(const StackWeight& place, std::uint64_t time_ns, std::uint64_t weight_ns,
                     bool is_booking) {
    if (!keeps_times_) {
        return;
    }
    if (series_.size() <= place.thread.value) {
        series_.resize(threads_.size() + 1);
    }
    std::shared_ptr<SampleSeries>& series = series_[place.thread.value];
    if (series == nullptr) {
        series = std::make_shared<SampleSeries>();
    }
    const auto index = static_cast<std::uint32_t>(&place - weights_.entries().data());
    series->append({since_start(time_ns), index, weight_ns, is_booking});
}

void Recording::saw_time(std::uint64_t time_ns) {
    last_time_ns_ = std::max(last_time_ns_, time_ns);
}

StackWeight* Recording::weight_of(ThreadId thread, NodeId node, std::uint64_t weight_ns) {
    if (weight_ns > std::numeric_limits<std::uint64_t>::max() - sum_of_weights_ns_) {
        ++bad_records_;
        return nullptr;
    }
    sum_of_weights_ns_ += weight_ns;
    if (!is_defined(thread.value, threads_.size()) || node.value > nodes_.size()) {
        ++bad_records_;
        thread = is_defined(thread.value, threads_.size()) ? thread : ThreadId{};
        node = node.value > nodes_.size() ? NodeId{} : node;
    }
    if (latest_weight_.size() <= node.value) {
        latest_weight_.resize(nodes_.size() + 1);
    }
    std::uint32_t& latest = latest_weight_[node.value];
    if (latest >= weights_.size() || weights_[latest].node != node ||
        weights_[latest].thread != thread) {
        latest = weights_.intern({thread, node});
    }
    return &weights_[latest];
}

}  // namespace sample::callgraph

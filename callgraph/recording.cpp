#include "callgraph/recording.h"

#include "core/text.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

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

/// Leaves those of `table` whose id `is_used`. Returns the new id of each old one; none: it is
/// gone.
template <class Id, class Value>
std::vector<Id> keep_used(std::vector<Value>& table, const std::vector<bool>& is_used) {
    std::vector<Id> new_id(is_used.size());
    std::vector<Value> kept;
    for (std::uint32_t old = 1; old < is_used.size(); ++old) {
        if (is_used[old]) {
            kept.push_back(std::move(table[old - 1]));
            new_id[old] = Id{static_cast<std::uint32_t>(kept.size())};
        }
    }
    table = std::move(kept);
    return new_id;
}

/// What its samples have cost, but no more than all of it.
std::uint64_t sampling_time_of(const StackWeight& weight, double cost_ns) {
    const double cost = static_cast<double>(weight.samples) * cost_ns;
    return cost < static_cast<double>(weight.sampled) ? static_cast<std::uint64_t>(cost)
                                                      : weight.sampled;
}

/// whole * count / of, without an overflow in between.
std::uint64_t part_of(std::uint64_t whole, std::uint64_t count, std::uint64_t of) {
    __extension__ using Wide = unsigned __int128;
    return of == 0 ? 0 : static_cast<std::uint64_t>(Wide{whole} * count / of);
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
        return;
    }
    const RecordedProcess* const owner = process(record.process);
    if (owner != nullptr && owner->facts.pid == record.tid) {
        saw_main_thread(record, owner->facts);
    }
}

/// The first word of a command line may be anything; exec has named the thread after the file that
/// it was given, unless the program did since.
void Recording::saw_main_thread(const trace::Thread& thread, const trace::Process& process) {
    const std::string_view line = process.command_line;
    const std::string_view typed = file_name(line.substr(0, line.find(' ')));
    const bool is_so = !typed.empty() && typed.substr(0, kMaxThreadName) == thread.name;
    const std::string_view file = file_name(process.executable);
    const std::string name{is_so ? typed : file};
    const auto [known, is_new] = started_as_.try_emplace(process.executable, name);
    if (known->second != name) {
        known->second = file;
    }
}

void Recording::add(const trace::ThreadName& record) {
    if (is_defined(record.id.value, threads_.size())) {
        threads_[record.id.value - 1].name = record.name;
    } else {
        ++bad_records_;
    }
}

std::string_view Recording::name_of_file(std::string_view path) const {
    const auto found = started_as_.find(path);
    return found != started_as_.end() ? std::string_view{found->second} : file_name(path);
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

void Recording::instrumentation(const trace::Instrumentation& said) {
    const auto count = [](std::uint64_t& number, bool is_one) { number += is_one ? 1 : 0; };
    const auto* const frame = std::get_if<trace::FrameEdge>(&said);
    const auto* const event = std::get_if<trace::RaisedEvent>(&said);
    count(said_.frames, frame != nullptr && frame->is_begin);
    count(said_.regions, std::holds_alternative<trace::RegionBegin>(said));
    count(said_.counters, std::holds_alternative<trace::CounterSpec>(said));
    count(said_.values, std::holds_alternative<trace::CounterValue>(said));
    count(said_.messages, std::holds_alternative<trace::Message>(said));
    count(said_.events, event != nullptr && event->scope != trace::ScopeKind::leave);
}

void Recording::sample(const trace::Sample& sample) {
    saw_time(sample.time_ns);
    if (!is_defined(sample.metric.value, spent_.size())) {
        ++bad_records_;
        return;
    }
    Spent& spent = spent_[sample.metric.value - 1];
    if (StackWeight* weight = weight_of(spent, sample)) {
        if (sample.is_booking) {
            weight->booked += sample.weight;
        } else {
            const auto value = static_cast<double>(sample.weight);
            weight->sampled += sample.weight;
            ++weight->samples;
            ++spent.recorded_samples;
            spent.sampled += value;
            spent.squares += value * value;
        }
        if (keeps_times_) {
            keep_time(spent, *weight, sample);
        }
    }
}

std::optional<std::uint32_t> Recording::add_sum(const StackWeight& sum, MetricId metric,
                                                std::uint64_t time_ns) {
    saw_time(time_ns);
    if (!is_defined(metric.value, spent_.size())) {
        ++bad_records_;
        return std::nullopt;
    }
    Spent& spent = spent_[metric.value - 1];
    StackWeight* const weight =
        weight_of(spent, {sum.thread, time_ns, sum.node, sum.sampled + sum.booked});
    if (weight == nullptr) {
        return std::nullopt;
    }
    weight->sampled += sum.sampled;
    weight->booked += sum.booked;
    weight->samples += sum.samples;
    spent.recorded_samples += sum.samples;
    spent.has_sums = spent.has_sums || sum.samples != 0;
    return static_cast<std::uint32_t>(weight - spent.weights.entries().data());
}

std::span<const StackWeight> Recording::weights(MetricId metric) const {
    return is_defined(metric.value, spent_.size()) ? spent_[metric.value - 1].weights.entries()
                                                   : std::span<const StackWeight>{};
}

std::uint64_t Recording::recorded_samples(MetricId metric) const {
    return is_defined(metric.value, spent_.size()) ? spent_[metric.value - 1].recorded_samples : 0;
}

std::optional<double> Recording::effective_samples(MetricId metric) const {
    if (!is_defined(metric.value, spent_.size())) {
        return std::nullopt;
    }
    const Spent& spent = spent_[metric.value - 1];
    return spent.has_sums || !(spent.squares > 0)
               ? std::nullopt
               : std::optional{spent.sampled * spent.sampled / spent.squares};
}

std::shared_ptr<const SampleSeries> Recording::samples_of(ThreadId thread, MetricId metric) const {
    if (!is_defined(metric.value, spent_.size())) {
        return nullptr;
    }
    const auto& series = spent_[metric.value - 1].series;
    return thread.value < series.size() ? series[thread.value] : nullptr;
}

Recording::Spent Recording::wanted_of(const Spent& spent,
                                      const std::function<bool(const StackWeight&)>& is_wanted,
                                      const std::vector<ThreadId>& threads) {
    constexpr std::uint32_t kDropped = 0xffffffff;
    Spent kept;
    kept.recorded_samples = spent.recorded_samples;
    std::vector<std::uint32_t> places;
    for (StackWeight weight : spent.weights.entries()) {
        if (!is_wanted(weight)) {
            places.push_back(kDropped);
            continue;
        }
        weight.thread = threads[weight.thread.value];
        places.push_back(kept.weights.intern(weight));
        kept.sum += weight.sampled + weight.booked;
    }
    kept.series.resize(spent.series.size());
    for (std::size_t old = 0; old < spent.series.size(); ++old) {
        if (spent.series[old] == nullptr) {
            continue;
        }
        const auto series = std::make_shared<SampleSeries>();
        TimedWeight sample;
        for (SampleSeries::Reader reader{*spent.series[old]}; reader.next(sample);) {
            TimedWeight moved = sample;
            moved.place = places[sample.place];
            if (moved.place != kDropped) {
                series->append(moved);
            }
        }
        if (!series->is_empty()) {
            kept.series[threads[old].value] = series;
        }
    }
    return kept;
}

void Recording::keep(const std::function<bool(const StackWeight&)>& is_wanted) {
    std::vector<bool> is_used(threads_.size() + 1);
    for (const Spent& spent : spent_) {
        for (const StackWeight& weight : spent.weights.entries()) {
            const bool is_kept = is_wanted(weight);
            is_used[weight.thread.value] = is_used[weight.thread.value] || is_kept;
            if (!is_kept) {
                forget_cpu_time(weight.thread);
            }
        }
    }
    std::vector<trace::Thread> threads = threads_;
    const std::vector<ThreadId> new_thread = keep_used<ThreadId>(threads, is_used);
    std::vector<bool> has_threads(processes_.size() + 1);
    for (const trace::Thread& thread : threads) {
        if (process(thread.process) != nullptr) {
            has_threads[thread.process.value] = true;
        }
    }
    std::vector<RecordedProcess> processes = processes_;
    const std::vector<ProcessId> new_process = keep_used<ProcessId>(processes, has_threads);
    for (trace::Thread& thread : threads) {
        thread.process =
            process(thread.process) == nullptr ? ProcessId{} : new_process[thread.process.value];
    }
    for (Spent& spent : spent_) {
        spent = wanted_of(spent, is_wanted, new_thread);
    }
    threads_ = std::move(threads);
    processes_ = std::move(processes);
}

void Recording::forget_cpu_time(ThreadId thread) {
    if (thread.is_none()) {
        return;
    }
    const std::uint32_t process = threads_[thread.value - 1].process.value;
    if (is_defined(process, processes_.size()) && processes_[process - 1].end) {
        processes_[process - 1].end->cpu_ns = 0;
    }
}

std::uint64_t Recording::sampling_time(double cost_ns) const {
    std::uint64_t sum = 0;
    for (const StackWeight& weight : weights()) {
        sum += sampling_time_of(weight, cost_ns);
    }
    return sum;
}

std::uint64_t Recording::taken_out_of(ProcessId id) const {
    return is_defined(id.value, taken_out_of_.size()) ? taken_out_of_[id.value - 1] : 0;
}

void Recording::take_out_sampling(double cost_ns) {
    taken_out_ = sampling_time(cost_ns);
    taken_out_of_.assign(processes_.size(), 0);
    if (spent_.empty()) {
        return;
    }
    Spent& spent = spent_.front();
    struct Place {
        std::uint64_t before = 0;
        std::uint64_t left = 0;
        std::uint64_t passed = 0;  ///< Of `before`, by the samples that were looked at.
    };
    std::vector<Place> places;
    places.reserve(spent.weights.size());
    for (std::uint32_t i = 0; i < spent.weights.size(); ++i) {
        StackWeight& weight = spent.weights[i];
        const std::uint64_t before = weight.sampled;
        weight.sampled -= sampling_time_of(weight, cost_ns);
        spent.sum -= before - weight.sampled;
        if (const trace::Thread* const owner = thread(weight.thread);
            owner != nullptr && process(owner->process) != nullptr) {
            taken_out_of_[owner->process.value - 1] += before - weight.sampled;
        }
        places.push_back({before, weight.sampled, 0});
    }
    for (std::shared_ptr<SampleSeries>& series : spent.series) {
        if (series == nullptr) {
            continue;
        }
        auto shorter = std::make_shared<SampleSeries>();
        TimedWeight sample;
        for (SampleSeries::Reader reader{*series}; reader.next(sample);) {
            TimedWeight left = sample;
            if (!sample.is_booking) {
                // As differences of the running sum, so that they add up to what is left.
                Place& place = places[sample.place];
                const std::uint64_t passed = place.passed + sample.weight;
                left.weight = part_of(place.left, passed, place.before) -
                              part_of(place.left, place.passed, place.before);
                place.passed = passed;
            }
            shorter->append(left);
        }
        series = std::move(shorter);
    }
}

bool Recording::label_thread(const LabelOf& label_of, MetricId metric, ThreadId thread,
                             const Spent& spent, Spent& labelled) {
    bool keeps_all = true;
    auto series = std::make_shared<SampleSeries>();
    TimedWeight sample;
    for (SampleSeries::Reader reader{*spent.series[thread.value]}; reader.next(sample);) {
        const auto label = label_of(metric, thread, sample);
        if (!label) {
            forget_cpu_time(thread);
            keeps_all = false;
            continue;
        }
        const StackWeight& of = spent.weights[sample.place];
        TimedWeight moved = sample;
        moved.place = labelled.weights.intern({of.thread, of.node, 0, 0, 0, *label});
        StackWeight& weight = labelled.weights[moved.place];
        (sample.is_booking ? weight.booked : weight.sampled) += sample.weight;
        weight.samples += sample.is_booking ? 0 : 1;
        labelled.sum += sample.weight;
        series->append(moved);
    }
    labelled.series[thread.value] = series->is_empty() ? nullptr : std::move(series);
    return keeps_all;
}

void Recording::label(const LabelOf& label_of) {
    bool drops_any = false;
    for (std::size_t metric = 0; metric < spent_.size(); ++metric) {
        Spent& spent = spent_[metric];
        const MetricId id{static_cast<std::uint32_t>(metric) + 1};
        Spent labelled;
        labelled.recorded_samples = spent.recorded_samples;
        labelled.series.resize(spent.series.size());
        for (std::uint32_t thread = 0; thread < spent.series.size(); ++thread) {
            if (spent.series[thread] != nullptr &&
                !label_thread(label_of, id, ThreadId{thread}, spent, labelled)) {
                drops_any = true;
            }
        }
        spent = std::move(labelled);
    }
    if (drops_any) {
        keep([](const StackWeight&) { return true; });
    }
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

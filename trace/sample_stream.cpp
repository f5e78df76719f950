#include "trace/sample_stream.h"

#include <algorithm>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::uint64_t kMaxWaitNs = 1'000'000'000;

/// Of threads with a batch, which is up to 4 KB of memory.
constexpr std::size_t kMostFillingBatches = 4096;

// A StackNodes event's data: with its framing it fits into one packet.
constexpr std::size_t kMaxNodeDataBytes = 4000;

}  // namespace

SampleStream::Series& SampleStream::series(SeriesId id) {
    if (series_.size() < id.metric.value) {
        series_.resize(id.metric.value);
    }
    std::vector<Series>& of_metric = series_[id.metric.value - 1];
    if (of_metric.size() < id.thread.value) {
        const std::uint64_t period = id.metric == kSessionMetric ? period_ : 0;
        while (of_metric.size() < id.thread.value) {
            of_metric.push_back({period, 0, nullptr});
        }
    }
    return of_metric[id.thread.value - 1];
}

void SampleStream::add(const Sample& sample) {
    const SeriesId id{sample.thread, sample.metric};
    Series& its = series(id);
    if (!its.batch) {
        if (filling_.size() >= kMostFillingBatches) {
            close_batches([](SeriesId) { return true; });
        }
        filling_.push_back(id);
    } else if (its.batch->is_full()) {
        close_batch(id);
    }
    if (!its.batch) {
        its.batch = std::make_unique<BatchEncoder>(sample.time_ns, its.period);
    }
    its.batch->add(sample);
    if (!sample.is_booking && sample.weight != its.batch->period()) {
        // The same odd weight twice: that is the period now (the frequency was changed).
        if (sample.weight == its.last_weight) {
            its.period = sample.weight;
        }
        its.last_weight = sample.weight;
    }
    oldest_ns_ = samples_wait_ ? std::min(oldest_ns_, sample.time_ns) : sample.time_ns;
    newest_ns_ = samples_wait_ ? std::max(newest_ns_, sample.time_ns) : sample.time_ns;
    samples_wait_ = true;
}

bool SampleStream::is_overdue() const noexcept {
    return samples_wait_ && newest_ns_ - oldest_ns_ >= kMaxWaitNs;
}

/// Turns the new nodes into events, so that what refers to them can follow.
void SampleStream::close_nodes() {
    std::vector<std::byte> data;
    for (auto node = new_nodes_.begin(); node != new_nodes_.end();) {
        const std::uint32_t first = node->id.value;
        data.clear();
        while (node != new_nodes_.end() &&
               data.size() + NodeCodec::kMaxNodeBytes <= kMaxNodeDataBytes) {
            codec_.encode(*node++, data);
        }
        events_.add(StackNodes{first, data});
    }
    new_nodes_.clear();
}

/// Turns a batch into an event. It stays in filling_.
void SampleStream::close_batch(SeriesId id) {
    close_nodes();
    const auto batch = std::move(series(id).batch);
    const auto metric = static_cast<std::uint8_t>(id.metric.value - 1);
    events_.add(SampleBatch{id.thread, batch->start_ns(), batch->period(), metric, batch->data()});
}

template <class Condition>
void SampleStream::close_batches(const Condition& condition) {
    std::erase_if(filling_, [&](SeriesId id) {
        if (!condition(id)) {
            return false;
        }
        if (series(id).batch) {
            close_batch(id);
        }
        return true;
    });
}

void SampleStream::close_process(ProcessId process) {
    close_batches([&](SeriesId id) { return processes_[id.thread.value - 1] == process; });
}

void SampleStream::close_all() {
    close_batches([](SeriesId) { return true; });
    close_nodes();
    events_.close_all();
    samples_wait_ = false;
}

}  // namespace sample::trace

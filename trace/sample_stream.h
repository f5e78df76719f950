// The mass of a recording on its way to the file: stack nodes, and the samples of each thread and
// metric in batches.
#pragma once

#include "trace/batch_codec.h"
#include "trace/event_writer.h"
#include "trace/node_codec.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Ids were checked by the caller; threads are numbered from 1 in the order of
/// add_thread(), nodes in that of add_node().
class SampleStream {
public:
    /// That samples can be weighed by: a batch has a byte for it.
    static constexpr std::uint32_t kMostMetrics = 256;

    /// `period` is what most samples of the session's own metric weigh.
    SampleStream(EventWriter& events, std::uint64_t period) noexcept
        : events_{events}, period_{period} {}

    void add_thread(ProcessId process) { processes_.push_back(process); }
    void add_node(const StackNode& node) { new_nodes_.push_back(node); }
    [[nodiscard]] std::uint32_t nodes() const noexcept {
        return codec_.size() + static_cast<std::uint32_t>(new_nodes_.size());
    }
    void add(const Sample& sample);

    /// True when the waiting samples span more than a second.
    [[nodiscard]] bool is_overdue() const noexcept;
    /// Turns what waits into events: of one process's threads, or of all.
    void close_process(ProcessId process);
    void close_all();

private:
    /// What the next batch of a thread and metric starts from, and the one being filled.
    struct Series {
        std::uint64_t period = 0;       ///< The next batch's.
        std::uint64_t last_weight = 0;  ///< Of the latest sample that was not one period.
        std::unique_ptr<BatchEncoder> batch;
    };
    struct SeriesId {
        ThreadId thread;
        MetricId metric;
    };

    Series& series(SeriesId id);
    void close_nodes();
    void close_batch(SeriesId id);
    template <class Condition>
    void close_batches(const Condition& condition);

    EventWriter& events_;
    std::uint64_t period_;
    std::vector<StackNode> new_nodes_;  ///< That are no events yet.
    NodeCodec codec_;                   ///< Knows those that are.
    std::vector<ProcessId> processes_;  ///< By ThreadId - 1.
    std::vector<std::vector<Series>>
        series_;                     ///< By MetricId - 1 and ThreadId - 1, as far as used.
    std::vector<SeriesId> filling_;  ///< Those that have a batch.
    std::uint64_t oldest_ns_ = 0;    ///< Of the samples that wait, here or for a packet.
    std::uint64_t newest_ns_ = 0;
    bool samples_wait_ = false;
};

}  // namespace sample::trace

// The mass of a recording on its way to the file: stack nodes, and each thread's samples in
// batches.
#pragma once

#include "trace/batch_codec.h"
#include "trace/event_writer.h"
#include "trace/node_codec.h"
#include "trace/node_table.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Ids were checked by the caller; threads are numbered from 1 in the order of
/// add_thread().
class SampleStream {
public:
    SampleStream(EventWriter& events, std::uint64_t period_ns) noexcept
        : events_{events}, period_ns_{period_ns} {}

    [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
    void add_thread(ProcessId process);
    [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }

    void add(const Sample& sample, bool is_booking);

    /// True when the waiting samples span more than a second.
    [[nodiscard]] bool is_overdue() const noexcept;
    /// Turns what waits into events: of one process's threads, or of all.
    void close_process(ProcessId process);
    void close_all();

private:
    /// What a thread's next batch starts from, and the one being filled.
    struct ThreadState {
        ProcessId process;
        std::uint64_t period_ns = 0;       ///< The next batch's.
        std::uint64_t last_weight_ns = 0;  ///< Of the latest sample that was not one period.
        std::unique_ptr<BatchEncoder> batch;
    };

    void close_nodes();
    void close_batch(ThreadId id);
    template <class Condition>
    void close_batches(const Condition& condition);

    EventWriter& events_;
    std::uint64_t period_ns_;
    NodeTable nodes_;
    NodeCodec codec_;                   ///< Knows the nodes that are already events.
    std::vector<ThreadState> threads_;  ///< By id - 1.
    std::vector<ThreadId> filling_;     ///< Threads that have a batch.
    std::uint64_t oldest_ns_ = 0;       ///< Of the samples that wait, here or for a packet.
    std::uint64_t newest_ns_ = 0;
    bool samples_wait_ = false;
    std::vector<std::byte> scratch_;
};

}  // namespace sample::trace

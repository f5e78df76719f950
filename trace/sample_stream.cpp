#include "trace/sample_stream.h"

#include "trace/event_encoder.h"
#include "trace/schema.h"

#include <algorithm>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::uint64_t kMaxWaitNs = 1'000'000'000;

/// Of threads with a batch, which is up to 4 KB of memory.
constexpr std::size_t kMostFilling = 4096;

// A StackNodes event's data: with its framing it fits into one packet.
constexpr std::size_t kMaxNodeDataBytes = 4000;

}  // namespace

void SampleStream::add_thread(ProcessId process) {
    threads_.push_back(ThreadState{process, period_ns_, 0, nullptr});
}

void SampleStream::add(const Sample& sample, bool is_booking) {
    ThreadState& thread = threads_[sample.thread.value - 1];
    if (!thread.batch) {
        if (filling_.size() >= kMostFilling) {
            close_batches([](const ThreadState&) { return true; });
        }
        filling_.push_back(sample.thread);
    } else if (thread.batch->is_full()) {
        close_batch(sample.thread);
    }
    if (!thread.batch) {
        thread.batch = std::make_unique<BatchEncoder>(sample.time_ns, thread.period_ns);
    }
    thread.batch->add(sample.time_ns, sample.node, sample.weight_ns, is_booking);
    if (!is_booking && sample.weight_ns != thread.batch->period_ns()) {
        // The same odd weight twice: that is the period now (the frequency was changed).
        if (sample.weight_ns == thread.last_weight_ns) {
            thread.period_ns = sample.weight_ns;
        }
        thread.last_weight_ns = sample.weight_ns;
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
    while (codec_.size() < nodes_.size()) {
        const std::uint32_t first = codec_.size() + 1;
        data.clear();
        while (codec_.size() < nodes_.size() &&
               data.size() + NodeCodec::kMaxNodeBytes <= kMaxNodeDataBytes) {
            codec_.encode(nodes_.node(NodeId{codec_.size() + 1}), data);
        }
        scratch_.clear();
        EventEncoder{schema::kStackNodes, scratch_}.number(first).bytes(data).finish();
        events_.add(schema::kStackNodes, scratch_);
    }
}

/// Turns a thread's batch into an event. The thread stays in filling_.
void SampleStream::close_batch(ThreadId id) {
    close_nodes();
    const auto batch = std::move(threads_[id.value - 1].batch);
    scratch_.clear();
    EventEncoder{schema::kSampleBatch, scratch_}
        .number(id.value)
        .number(batch->start_ns())
        .number(batch->period_ns())
        .bytes(batch->data())
        .finish();
    events_.add(schema::kSampleBatch, scratch_);
}

template <class Condition>
void SampleStream::close_batches(const Condition& condition) {
    std::erase_if(filling_, [&](ThreadId id) {
        const ThreadState& thread = threads_[id.value - 1];
        if (!condition(thread)) {
            return false;
        }
        if (thread.batch) {
            close_batch(id);
        }
        return true;
    });
}

void SampleStream::close_process(ProcessId process) {
    close_batches([process](const ThreadState& thread) { return thread.process == process; });
}

void SampleStream::close_all() {
    close_batches([](const ThreadState&) { return true; });
    close_nodes();
    events_.close_all();
    samples_wait_ = false;
}

}  // namespace sample::trace

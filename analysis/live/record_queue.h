// What a session records, on its way to whoever watches it: a sink that the session's loop appends
// to, and a queue of batches that another thread takes.
//
// The loop never waits for that thread: a batch is handed over at each flush, 50 a second, by
// moving it. While as many wait as may (the other thread is stopped, or its terminal is), the batch
// goes on being filled; samples of one thread and stack are one entry in it, so it is bounded by
// what the session itself may hold, and nothing is lost but when exactly samples were taken.
//
// Not kept is what nobody who watches asks for: where modules are mapped, programs without samples,
// and what programs say of themselves.
#pragma once

#include "callgraph/intern_table.h"
#include "core/fd.h"
#include "core/file_rights.h"
#include "core/result.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sample::analysis {

/// What samples of one thread, stack and metric add up to.
struct SampleSum {
    trace::Sample sum;  ///< Its time is the latest one's.
    std::uint64_t samples = 0;
};

/// To be taken in this order: records, nodes, samples.
class RecordBatch {
public:
    std::vector<trace::Record> records;
    std::vector<trace::StackNode> nodes;
    /// As whom else than ourselves to read files of modules among the records: ActingAs.
    std::vector<std::pair<ModuleId, std::shared_ptr<const FileRights>>> readers;
    std::uint64_t lost = 0;
    std::uint64_t begin_ns = 0;  ///< When it was begun, and handed over; CLOCK_MONOTONIC.
    std::uint64_t end_ns = 0;

    void add(const trace::Sample& sample);
    [[nodiscard]] std::span<const SampleSum> samples() const { return samples_.entries(); }
    [[nodiscard]] bool is_empty() const {
        return records.empty() && nodes.empty() && samples_.size() == 0 && lost == 0;
    }

private:
    struct Traits {
        static std::uint64_t hash(const SampleSum& one) {
            return callgraph::hash_pair(
                (std::uint64_t{one.sum.thread.value} << 32U) | one.sum.node.value,
                (std::uint64_t{one.sum.metric.value} << 1U) | (one.sum.is_booking ? 1 : 0));
        }
        static bool equal(const SampleSum& left, const SampleSum& right) {
            return left.sum.node == right.sum.node && left.sum.thread == right.sum.thread &&
                   left.sum.metric == right.sum.metric &&
                   left.sum.is_booking == right.sum.is_booking;
        }
    };

    callgraph::InternTable<SampleSum, Traits> samples_;
};

/// The sink is the session's loop's; take() and fd() are the other thread's.
class RecordQueue final : public trace::RecordSink {
public:
    /// Errors: system (no descriptor is left).
    [[nodiscard]] static Result<std::unique_ptr<RecordQueue>> create();

    void record(const trace::Record& record) override;
    void node(const trace::StackNode& node) override { filling_.nodes.push_back(node); }
    void sample(const trace::Sample& sample) override { filling_.add(sample); }
    [[nodiscard]] bool wants_edges() const override { return false; }
    void lost(std::uint64_t samples) override { filling_.lost += samples; }
    /// Hands over what there is; in the end (FlushMode::everything) however much waits. Never
    /// fails.
    Result<void> flush(trace::FlushMode mode) override;

    /// Readable while a batch waits.
    [[nodiscard]] int fd() const { return waits_.get(); }
    /// The oldest batch; none waits: none.
    [[nodiscard]] std::optional<RecordBatch> take();

private:
    explicit RecordQueue(Fd waits);

    static constexpr std::size_t kMostWaiting = 8;

    RecordBatch filling_;  ///< The loop's alone.
    std::mutex mutex_;     ///< Held for a move of a batch at most.
    std::deque<RecordBatch> waiting_;
    Fd waits_;  ///< An eventfd that counts them.
};

}  // namespace sample::analysis

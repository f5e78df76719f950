// Where records go: what the collector makes, and what a reader gets back, is handed to a sink. A
// file is one (trace/recording_writer.h), a recording in memory another (callgraph/recording.h).
#pragma once

#include "core/result.h"
#include "trace/instrumentation.h"
#include "trace/records.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sample::trace {

/// What a flush() has to put where others see it.
enum class FlushMode : std::uint8_t {
    worthwhile,  ///< Samples only if more than a second of them waits: cheap to call often.
    everything,
};

/// Takes the records of one session in this order: SessionStart first and SessionEnd last; whatever
/// a record refers to before it; nodes with ids 1, 2, 3, …; the samples of one thread by time,
/// those of different threads in any order, and also behind the end of their process. Not
/// thread-safe unless a sink says so.
class RecordSink {
public:
    RecordSink() = default;
    virtual ~RecordSink() = default;

    virtual void record(const Record& record) = 0;
    virtual void node(const StackNode& node) = 0;
    virtual void sample(const Sample& sample) = 0;
    /// What programs say of themselves; a sink may have no use for it.
    virtual void zone(const ZoneEdge& /*edge*/) {}
    /// Of a sink without use for edges, who has them as bytes may say instead how many zones begin.
    [[nodiscard]] virtual bool wants_edges() const { return true; }
    virtual void zones(std::uint64_t /*begun*/) {}
    virtual void instrumentation(const Instrumentation& /*said*/) {}
    virtual void memory(const MemoryEvent& /*event*/) {}
    /// So many samples more were dropped: said about once a second, while a session goes on. In the
    /// end ProcessEnd has the sum, so a file has no use for it.
    virtual void lost(std::uint64_t /*samples*/) {}
    /// Errors: the first failure of the sink, ever; what came after it was dropped.
    virtual Result<void> flush(FlushMode /*mode*/) { return {}; }

protected:
    RecordSink(const RecordSink&) = default;
    RecordSink(RecordSink&&) = default;
    RecordSink& operator=(const RecordSink&) = default;
    RecordSink& operator=(RecordSink&&) = default;
};

/// Hands everything to several sinks, which outlive it. One that fails does not keep the others
/// from theirs.
class Tee final : public RecordSink {
public:
    explicit Tee(std::vector<RecordSink*> sinks) : sinks_{std::move(sinks)} {}

    void record(const Record& record) override {
        for (RecordSink* sink : sinks_) {
            sink->record(record);
        }
    }
    void node(const StackNode& node) override {
        for (RecordSink* sink : sinks_) {
            sink->node(node);
        }
    }
    void sample(const Sample& sample) override {
        for (RecordSink* sink : sinks_) {
            sink->sample(sample);
        }
    }
    void zone(const ZoneEdge& edge) override {
        for (RecordSink* sink : sinks_) {
            sink->zone(edge);
        }
    }
    [[nodiscard]] bool wants_edges() const override {
        return std::any_of(sinks_.begin(), sinks_.end(),
                           [](const RecordSink* sink) { return sink->wants_edges(); });
    }
    void zones(std::uint64_t begun) override {
        for (RecordSink* sink : sinks_) {
            sink->zones(begun);
        }
    }
    void instrumentation(const Instrumentation& said) override {
        for (RecordSink* sink : sinks_) {
            sink->instrumentation(said);
        }
    }
    void memory(const MemoryEvent& event) override {
        for (RecordSink* sink : sinks_) {
            sink->memory(event);
        }
    }
    void lost(std::uint64_t samples) override {
        for (RecordSink* sink : sinks_) {
            sink->lost(samples);
        }
    }
    /// Errors: the first sink's that has one.
    Result<void> flush(FlushMode mode) override {
        Result<void> result;
        for (RecordSink* sink : sinks_) {
            if (Result<void> flushed = sink->flush(mode); result && !flushed) {
                result = std::move(flushed);
            }
        }
        return result;
    }

private:
    std::vector<RecordSink*> sinks_;
};

}  // namespace sample::trace

// Memory that is given out and taken back on its way to the file, in the order of its times.
//
// What the threads say comes one thread after the other. It is held back until what was before must
// have come, put in order, and written with serial numbers, each thread's into its own stream.
#pragma once

#include "trace/event_writer.h"
#include "trace/memory_events.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: 64 bytes for each event since the call of release() before the last.
class MemoryWriter {
public:
    /// What it shares with others that write to the threads' streams.
    struct Streams {
        EventWriter& events;
        std::uint64_t& next_serial;
        std::uint16_t (*stream_of)(ThreadId);
        std::function<void(ThreadId)> close_batch;  ///< Of what the thread said before.
    };
    explicit MemoryWriter(Streams streams) : streams_{std::move(streams)} {}

    void define(const HeapSpec& spec);
    void define(const MemoryTagSpec& spec);
    void define(const CallStack& stack);
    [[nodiscard]] bool knows(HeapId heap) const { return heap.value <= heaps_; }
    [[nodiscard]] bool knows(MemoryTagId tag) const { return tag.value <= tags_; }
    [[nodiscard]] bool is_next(HeapId heap) const { return heap.value == heaps_ + 1; }
    [[nodiscard]] bool is_next(MemoryTagId tag) const { return tag.value == tags_ + 1; }

    /// The thread has a stream; what it refers to is defined.
    void add(const MemoryEvent& event) {
        held_.push_back(event);
        highest_ns_ = event.time_ns > highest_ns_ ? event.time_ns : highest_ns_;
    }
    /// To be called whenever all threads have been asked: writes what had come by the call before
    /// this one, or all.
    void release(FlushMode mode);
    /// Before somebody else's scope begins or ends in the thread's stream.
    void close_scope(ThreadId thread);

private:
    void begin();
    void write(const MemoryEvent& event);
    template <class Event>
    void append_ordered(const Event& event);

    Streams streams_;
    bool has_begun_ = false;
    std::uint32_t heaps_ = 0;
    std::uint32_t tags_ = 0;
    std::vector<MemoryEvent> held_;
    std::uint64_t highest_ns_ = 0;          ///< Time that has come.
    std::uint64_t watermark_ns_ = 0;        ///< The same at the last release().
    std::uint64_t marked_ns_ = 0;           ///< The last marker's time.
    std::vector<MemoryTagId> open_scopes_;  ///< By ThreadId - 1: the tag of the scope that is open.
    std::size_t unclosed_ = 0;              ///< Events since all streams' packets were written.
    std::vector<std::byte> scratch_;
};

}  // namespace sample::trace

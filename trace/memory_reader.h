// Makes the plain values of trace/instrumentation.h of the container's memory events, of our files
// and of foreign ones, and hands them to a sink.
//
// A foreign file's scopes have no serial numbers: where threads' events had to be put in order, the
// tag at a scope's begin and end may be one event's too early.
#pragma once

#include "trace/event_reader.h"
#include "trace/memory_events.h"
#include "trace/reading_state.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: ReadingState::kMostDefined for what is defined, and 64 Ki scopes.
class MemoryReader {
public:
    /// `thread_of` says whose a stream is, `wrap` makes a handler of the whole file's.
    using ThreadOf = std::function<ThreadId(std::uint16_t stream)>;
    using Wrap = std::function<EventReader::Handler(std::function<void(const EventView&)>)>;
    using StackOf = std::function<std::uint32_t(std::uint32_t number)>;
    MemoryReader(ReadingState& reading, ThreadOf thread_of)
        : reading_{reading}, thread_of_{std::move(thread_of)} {}

    /// MemoryEvent::call_stack by the file's number, which it is unless this was called.
    void set_stacks(StackOf stack_of) { stack_of_ = std::move(stack_of); }
    void subscribe_definitions(EventReader& reader, const Wrap& wrap);
    void subscribe_events(EventReader& reader, const Wrap& wrap);
    static void skip_definitions(EventReader& reader);

private:
    static constexpr std::size_t kMostScopes = std::size_t{1} << 16U;

    void take_heap(const EventView& event);
    void take_tag(const EventView& event);
    void take_stack(const EventView& event);
    void take_scope(const EventView& event);
    void take_alloc(const EventView& event, MemoryKind kind, std::uint32_t number);
    void take_free(const EventView& event, MemoryKind kind, std::uint32_t number);
    [[nodiscard]] HeapId heap(std::uint32_t number);
    [[nodiscard]] MemoryTagId tag(std::int32_t number);
    void hand_on(const EventView& from, MemoryEvent event);

    ReadingState& reading_;
    ThreadOf thread_of_;
    StackOf stack_of_;
    unsigned size_shift_ = kMemorySizeShift;
    std::uint64_t time_ns_ = 0;
    NumberMap heaps_;
    NumberMap tags_;
    std::unordered_map<std::uint16_t, std::vector<MemoryTagId>> scopes_;  ///< By stream.
    std::size_t open_scopes_ = 0;
};

}  // namespace sample::trace

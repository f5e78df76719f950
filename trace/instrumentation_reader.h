// Makes the plain values of trace/instrumentation.h of the container's events, of our files and of
// foreign ones, and hands them to a sink.
//
// Ids of a file (an engine's are pointers, 16-bit numbers, or sparse) become dense ones. What
// refers to something that is not defined is named "[unknown]" if it is a zone or a message, and
// counted else. Events of types that nobody else knows are the program's own.
#pragma once

#include "trace/event_reader.h"
#include "trace/instrumentation_events.h"
#include "trace/memory_reader.h"
#include "trace/reading_state.h"
#include "trace/zone_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: ReadingState::kMostDefined for what is defined, and 4 KiB for each
/// thread. Whatever the events are, it hands out ids that are defined. An edge of a zone costs some
/// nanoseconds and no allocation.
class InstrumentationReader {
public:
    /// Whose file it is.
    struct Origin {
        bool is_ours = true;
        /// The thread of a number of the container's: a stream's, or $Trace.ThreadInfo's. None: it
        /// is not known.
        std::function<ThreadId(std::uint32_t)> thread;
        std::function<bool(ProcessId)> knows;
        std::function<bool()> has_begun;  ///< The session, before which nothing is handed out.
    };

    InstrumentationReader(RecordSink& sink, Origin origin)
        : origin_{std::move(origin)}, reading_{&sink, origin_.is_ours} {}
    InstrumentationReader(const InstrumentationReader&) = delete;
    InstrumentationReader& operator=(const InstrumentationReader&) = delete;
    ~InstrumentationReader() = default;

    void hand_to(RecordSink& sink) noexcept { reading_.sink = &sink; }
    void set_clock(const CycleClock& clock) noexcept { reading_.clock = clock; }

    /// Of a foreign file: what a call stack's number in it is called.
    void set_stacks(MemoryReader::StackOf stack_of) { memory_.set_stacks(std::move(stack_of)); }

    /// What others refer to: important events. Both may be read in one run, or, as an engine
    /// defines things also after their use, in two.
    void subscribe_definitions(EventReader& reader);
    void subscribe_events(EventReader& reader);
    /// Of a second run: they are no unknown events.
    static void skip_definitions(EventReader& reader);
    /// $Trace.ThreadInfo names the thread of that number.
    void take_thread_info(std::uint32_t number);

    /// Of all that was read.
    [[nodiscard]] std::uint64_t newest_ns() const noexcept { return reading_.newest_ns; }
    /// Of types of ours, or of the container's own, that this version does not know.
    [[nodiscard]] std::uint64_t unknown_events() const noexcept { return unknown_events_; }
    /// What could not be made sense of, for people; empty: nothing.
    [[nodiscard]] std::string problem() const;

private:
    struct ThreadState {
        ThreadId id;
        ZoneReader::OpenZones zones = {};
        std::uint64_t event_ns = 0;  ///< Of the next of the program's own.
    };
    /// A handler that calls `take` once the session has begun.
    template <class Take>
    EventReader::Handler in_session(const Take& take);
    template <class Event>
    void on(EventReader& reader);
    template <class Event>
    void on_thread(EventReader& reader);
    void on_batch(EventReader& reader, std::string_view name, ZoneBatchVersion version);

    /// Of what defines zones.
    template <class Event>
    void take(const Event& event) {
        zones_.take(event);
    }
    void take(const ThreadGroupBeginEvent& event);
    void take(const ThreadGroupEndEvent& event);
    void take(const CounterProcessEvent& event);
    void take(const CounterSpecEvent& event);
    void take(const BookmarkSpecEvent& event);
    void take(const LogCategoryEvent& event);
    void take(const LogMessageSpecEvent& event);
    void take(const ChannelAnnounceEvent& event);
    void take(const ChannelToggleEvent& event);
    void take(const FrameKind& kind);
    void take(const InstrumentationLoss& loss);
    void take(ThreadState& its, const CounterIntegerEvent& event);
    void take(ThreadState& its, const CounterRealEvent& event);
    void take(ThreadState& its, const BookmarkEvent& event);
    void take(ThreadState& its, const LogMessageEvent& event);
    void take(ThreadState& its, const RegionBeginEvent& event);
    void take(ThreadState& its, const RegionBeginWithIdEvent& event);
    void take(ThreadState& its, const RegionEndEvent& event);
    void take(ThreadState& its, const RegionEndWithIdEvent& event);
    void take(ThreadState& its, const FrameBeginEvent& event);
    void take(ThreadState& its, const FrameEndEvent& event);
    void take(ThreadState& its, const FlowEvent& event);
    void take(ThreadState& its, const EndThreadEvent& event) {
        zones_.end_thread(its.id, its.zones, event.cycle);
    }
    void take(ThreadState& its, const EventTimeEvent& event);
    void take(ThreadState& its, const OrderedEventTimeEvent& event);
    void take_raised(const EventView& event);

    ThreadState* state(std::uint16_t stream);
    void define_message(std::unordered_map<std::uint64_t, MessageId>& points, std::uint64_t point,
                        MessageSpec spec);
    void take_message(ThreadId thread, std::uint64_t cycle, MessageId spec,
                      std::span<const std::byte> arguments);
    [[nodiscard]] MessageId unknown_message(MessageId& id, bool is_bookmark);
    void take_value(ThreadId thread, std::uint64_t cycle, std::uint16_t counter,
                    std::variant<std::int64_t, double> value);
    EventTypeId raised_type(const EventType& type);

    Origin origin_;
    ReadingState reading_;
    ZoneReader zones_{reading_};
    MemoryReader memory_{reading_, [this](std::uint16_t stream) {
                             const ThreadState* const its = state(stream);
                             return its == nullptr ? ThreadId{} : its->id;
                         }};
    std::unordered_map<std::uint16_t, ThreadState> threads_;  ///< By stream.
    NumberMap counters_;
    std::unordered_map<std::uint16_t, ProcessId> counter_processes_;
    std::unordered_map<std::uint64_t, MessageId> bookmarks_;
    std::unordered_map<std::uint64_t, MessageId> logs_;
    std::uint32_t messages_ = 0;
    std::unordered_map<std::uint64_t, std::string> categories_;
    MessageId unknown_bookmark_;
    MessageId unknown_log_;
    NumberMap channels_;
    std::string group_;                                      ///< Of threads that are named now.
    std::unordered_map<std::uint32_t, std::string> groups_;  ///< By ThreadId.
    std::unordered_map<const EventType*, EventTypeId> types_;
    std::uint64_t unknown_events_ = 0;
};

}  // namespace sample::trace

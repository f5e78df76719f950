// What programs say of themselves on its way to the file: plain values in, the container's events
// out, each thread's in its own stream.
//
// Zones are the mass of it: they wait in their thread's batch until that is worth a packet. Before
// anything else of the thread its batch is closed, so that a thread's stream is in the order in
// which things were said. A program's own events that have a serial number come from the threads
// one after the other, so they are held back until those before them must have come; readers get
// them with serial numbers without gaps.
#pragma once

#include "trace/event_writer.h"
#include "trace/instrumentation_events.h"
#include "trace/memory_writer.h"
#include "trace/record_sink.h"
#include "trace/records.h"
#include "trace/standard_events.h"
#include "trace/zone_batch.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: 4 KB for each thread that says something, the names of zones, 64 Ki
/// regions, and what is held back. Threads and processes were checked by the caller.
class InstrumentationWriter {
public:
    InstrumentationWriter(EventWriter& events, StandardEvents& standard) noexcept
        : events_{events},
          standard_{standard},
          memory_{{events, next_serial_, stream_of,
                   [this](ThreadId thread) { close_batch(thread); }}} {}

    /// Threads are numbered from 1 in the order of these calls.
    void add_thread(ProcessId process) { threads_.push_back({process}); }

    /// True if all that it refers to is defined, and what it defines has the next id.
    [[nodiscard]] bool admits(const ZoneEdge& edge) const noexcept;
    [[nodiscard]] bool admits(const RaisedEvent& event) const noexcept;
    [[nodiscard]] bool admits(const Instrumentation& said) const;
    [[nodiscard]] bool admits(const MemoryEvent& event) const {
        return memory_.knows(event.heap) && memory_.knows(event.tag);
    }
    void add(const ZoneEdge& edge);
    void add(const Instrumentation& said);
    void add(const MemoryEvent& event);

    /// True when what waits spans more than a second.
    [[nodiscard]] bool is_overdue() const noexcept;
    /// To be called whenever all threads have been asked: lets events with serial numbers go that
    /// had come by the call before this one, or all.
    void release(FlushMode mode);
    /// Turns all that waits into events.
    void close_all();
    /// The same of one process's threads, whose open zones end.
    void end_process(ProcessId process, std::uint64_t time_ns);
    /// Before the end of the session.
    void finish();

private:
    struct ThreadState {
        ProcessId process;
        ZoneBatchEncoder zones = {};
        bool has_zones = false;   ///< Since the last EndThread.
        bool has_timing = false;  ///< The stream says what times are relative to.
        std::uint64_t base_ns = 0;
        std::uint64_t last_serial = 0;
        std::size_t held_back = 0;
    };
    /// An event that is held back.
    struct Held {
        std::uint64_t serial = 0;  ///< Its own, or that of the thread's event before it.
        ThreadId thread;
        std::vector<std::size_t> serials_at;  ///< Where in the bytes serial numbers go.
        std::vector<std::byte> bytes;
    };
    /// Of a process that said what is listed here.
    struct ProcessState {
        std::vector<ThreadId> with_zones;
        std::vector<Held> held;
        std::uint64_t highest = 0;    ///< Serial number that has come.
        std::uint64_t watermark = 0;  ///< The same at the last release().
    };
    struct Type {
        EventTypeSpec spec;
        std::vector<FieldSpec> fields;
        EventSpec declared;
        std::size_t fixed_bytes = 0;
        bool is_usable = false;  ///< The container can hold its events.
    };
    struct ZoneState {
        std::string name;
        bool has_metadata = false;  ///< Its MetadataSpec is written.
    };
    /// Of a process; regions of different processes have nothing to do with each other.
    using RegionKey = std::pair<std::uint32_t, std::uint64_t>;

    void say(const ZoneSpec& spec);
    void say(const ZoneNote& note);
    void say(const CounterSpec& spec);
    void say(const CounterValue& value);
    void say(const FrameKind& kind) { write(kind); }
    void say(const FrameEdge& edge);
    void say(const RegionBegin& begin);
    void say(const RegionEnd& end);
    void say(const MessageSpec& spec);
    void say(const Message& message);
    void say(const Flow& flow);
    void say(const ThreadGroup& group);
    void say(const Channel& channel);
    void say(const ChannelToggle& toggle);
    void say(const InstrumentationLoss& loss) { write(loss); }
    void say(const EventTypeSpec& spec);
    void say(const RaisedEvent& event);
    void say(const HeapSpec& spec) { memory_.define(spec); }
    void say(const MemoryTagSpec& spec) { memory_.define(spec); }
    void say(const CallStack& stack) { memory_.define(stack); }

    [[nodiscard]] static std::uint16_t stream_of(ThreadId thread);
    [[nodiscard]] bool is_next(std::uint32_t id, std::size_t known) const noexcept;
    [[nodiscard]] ThreadState& state(ThreadId thread) { return threads_[thread.value - 1]; }
    template <class Event>
    void declare();
    /// Writes an important event, or one of a thread behind its zones so far.
    template <class Event>
    void write(const Event& event);
    template <class Event>
    void write(ThreadId thread, std::uint64_t time_ns, const Event& event);
    void write_end(const RegionEnd& end, std::uint64_t region);
    void encode(const RaisedEvent& event, const EventSpec& type);
    void encode_uid(const EventSpec& type);
    void encode_time(const RaisedEvent& event, bool is_ordered);
    void encode_scope(const RaisedEvent& event);
    [[nodiscard]] static bool fits(const RaisedEvent& event, const Type& type);
    void hand_on_raised(const RaisedEvent& event);
    void let_go(ProcessState& process, std::uint64_t up_to);
    void close_batch(ThreadId thread);
    void wait(std::uint64_t time_ns) noexcept;
    void lose(ThreadId thread, std::uint64_t time_ns, bool is_zone = false);
    void tell_losses();

    EventWriter& events_;
    StandardEvents& standard_;
    std::bitset<128> declared_;  ///< By uid.
    std::vector<ThreadState> threads_;
    std::vector<ThreadId> filling_;  ///< Those that have a batch.
    std::unordered_map<std::uint32_t, ProcessState> processes_;
    std::uint64_t next_serial_ = 0;
    MemoryWriter memory_;
    std::vector<ZoneState> zones_;
    std::uint32_t notes_ = 0;
    std::uint32_t counters_ = 0;
    std::uint32_t channels_ = 0;
    std::vector<bool> is_bookmark_;  ///< By MessageId - 1.
    std::map<std::string, std::uint64_t> categories_;
    std::map<RegionKey, std::uint64_t> open_regions_;  ///< When they begin: their numbers.
    std::set<std::uint64_t> region_numbers_;
    std::map<RegionKey, RegionEnd> early_ends_;  ///< Of regions whose begin has not come yet.
    std::deque<Type> types_;
    std::map<ThreadId, InstrumentationLoss> losses_;
    std::vector<std::byte> scratch_;
    Held raised_;  ///< The one that is being encoded.
    std::uint64_t oldest_ns_ = std::numeric_limits<std::uint64_t>::max();  ///< Of what waits.
    std::uint64_t newest_ns_ = 0;
    bool something_waits_ = false;
    unsigned releases_ = 0;  ///< Since it was all written.
};

}  // namespace sample::trace

// What a program says of itself, as plain values: zones, counters, frames, regions, messages, flows
// and events of its own. Those who write a file make the container's own events of them
// (docs/format-utrace.md), so that other people's readers show them; those who read one, of ours or
// of an engine's, make these values of such events again.
//
// Times are CLOCK_MONOTONIC nanoseconds as in trace/records.h, or the foreign file's own clock in
// nanoseconds since its start. Ids are dense, start at 1, and are defined before they are used.
// What one thread says comes in the order of its times; different threads come in any order. Of a
// file, a program's own events with serial numbers may come later than what else the thread says;
// and of a foreign file, each kind of values is in order by itself only, and zones may end that
// have not begun.
#pragma once

#include "core/ids.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sample::trace {

using ZoneId = Id<struct ZoneTag>;            ///< One place, or name, that zones are of.
using ZoneNoteId = Id<struct ZoneNoteTag>;    ///< What was said of one zone when it began.
using CounterId = Id<struct CounterTag>;      ///< One counter of one process.
using MessageId = Id<struct MessageTag>;      ///< One place that bookmarks or log messages are of.
using HeapId = Id<struct HeapTag>;            ///< Where memory comes from.
using MemoryTagId = Id<struct MemoryTagTag>;  ///< What the program calls what it allocates.
using ChannelId = Id<struct ChannelTag>;      ///< What can be switched on and off.
using EventTypeId = Id<struct EventTypeTag>;  ///< One type of the program's own events.

inline constexpr std::uint32_t kNoColour = 0xffffffff;

/// Zones of one name. Names may come twice, with different ids.
struct ZoneSpec {
    ZoneId id;
    std::string name;
    std::string category = {};         ///< Empty: none.
    std::uint32_t colour = kNoColour;  ///< 0xRRGGBB.
    std::string file = {};             ///< Empty: not known.
    std::uint32_t line = 0;
};

struct NamedValue {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
};

/// What a program says of one zone beside its name.
struct ZoneNote {
    ZoneNoteId id;
    ZoneId zone;
    std::vector<NamedValue> values;
};

enum class EdgeKind : std::uint8_t {
    begin,
    end,      ///< Of the zone that began last and has not ended.
    suspend,  ///< Of a coroutine: the innermost `depth` zones go on later, on any thread.
    resume,   ///< They go on here.
};

/// Where a zone begins or ends. There are many.
struct ZoneEdge {
    ThreadId thread;
    EdgeKind kind = EdgeKind::begin;
    std::uint64_t time_ns = 0;
    ZoneId zone;              ///< Of a begin; of suspend and resume the coroutine's own.
    ZoneNoteId note = {};     ///< Of a begin; none mostly.
    std::uint32_t depth = 0;  ///< Of suspend and resume.
};

struct CounterSpec {
    CounterId id;
    ProcessId process;
    std::string name;
    bool is_real = false;    ///< Its values are floating-point numbers.
    bool is_memory = false;  ///< They are bytes.
};

struct CounterValue {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    CounterId counter;
    std::variant<std::int64_t, double> value;
};

/// A kind of frame. 0 is the main one and 1 the one that renders, unless a file names them.
struct FrameKind {
    std::uint8_t kind = 0;
    std::string name;
};

struct FrameEdge {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    std::uint8_t kind = 0;
    bool is_begin = true;
};

/// A stretch of time that may overlap others and end on another thread.
struct RegionBegin {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    /// Whose end is meant; 0: the latest of that name. A file gives another number back.
    std::uint64_t region = 0;
    std::string name;
    std::string category = {};
};

struct RegionEnd {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    std::uint64_t region = 0;
    std::string name;  ///< If region is 0.
};

/// Verbosities as the container numbers them.
enum class Verbosity : std::uint8_t {
    none,
    fatal,
    error,
    warning,
    display,
    log,
    verbose,
    very_verbose,
};

/// A place in the program that says something in words.
struct MessageSpec {
    MessageId id;
    bool is_bookmark = false;
    std::string category = {};  ///< Of a log message.
    Verbosity verbosity = Verbosity::log;
    std::string format;  ///< As printf's.
    std::string file = {};
    std::uint32_t line = 0;
};

/// The text is made when it is read: trace/message_text.h.
struct Message {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    MessageId spec;
    /// One byte that counts the arguments; a byte for each: its bytes in the low 6 bits, above them
    /// 1 an integer, 2 a floating-point number, 3 text; then their values (text ends with 0).
    std::vector<std::byte> arguments;
};

enum class FlowStep : std::uint8_t { begin, step, end };

/// An arrow's next point: it is bound to the zone that is open on the thread then.
struct Flow {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    std::uint64_t flow = 0;  ///< Those of one number belong together.
    FlowStep step = FlowStep::begin;
};

/// Threads that belong together, as the program says.
struct ThreadGroup {
    ThreadId thread;
    std::string name;
};

struct Channel {
    ChannelId id;
    std::string name;
    bool is_enabled = false;
    bool is_read_only = false;
};

struct ChannelToggle {
    ChannelId channel;
    bool is_enabled = false;
};

/// Where memory comes from. None: malloc's.
struct HeapSpec {
    HeapId id;
    std::string name;
    HeapId parent = {};  ///< Whose blocks its memory is a part of.
};

struct MemoryTagSpec {
    MemoryTagId id;
    std::string name;
    MemoryTagId parent = {};
};

/// A call stack of allocations that is told by its addresses. Of ours it has nodes, too.
struct CallStack {
    static constexpr std::size_t kMostFrames = 255;

    std::uint32_t id = 0;               ///< MemoryEvent::call_stack.
    std::vector<std::uint64_t> frames;  ///< Leaf first; of a deep one the first ones.
};

enum class MemoryKind : std::uint8_t {
    alloc,
    free,
    realloc_alloc,  ///< As alloc and free: both of them are parts of one reallocation.
    realloc_free,
};
constexpr bool gives_out(MemoryKind kind) noexcept {
    return kind == MemoryKind::alloc || kind == MemoryKind::realloc_alloc;
}

/// Memory is given out or taken back. There are many. In a file they are in the order of all
/// threads, and `time_ns` is when one of the last ones was.
struct MemoryEvent {
    ThreadId thread;
    MemoryKind kind = MemoryKind::alloc;
    std::uint8_t alignment_log2 = 0;  ///< Of what is given out, as the others below; 0: not known.
    std::uint64_t time_ns = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    HeapId heap = {};
    MemoryTagId tag = {};
    std::uint32_t call_stack = 0;  ///< In a recording of ours the NodeId's value. 0: not known.
};

/// What a program wanted to say and could not, as there was no room: exact.
struct InstrumentationLoss {
    ThreadId thread;
    std::uint64_t time_ns = 0;
    std::uint64_t zones = 0;   ///< Whole ones, with what lay in them.
    std::uint64_t others = 0;  ///< Values, messages and events.
};

/// A field of a program's own event. `type_code`: the container's type byte (trace/event_spec.h).
struct EventField {
    std::string name;
    std::uint8_t type_code = 0;
};

struct EventTypeSpec {
    EventTypeId id;
    std::string logger;
    std::string name;
    std::uint8_t flags = 0;  ///< wire::kImportant and its kin.
    std::vector<EventField> fields;
};

enum class ScopeKind : std::uint8_t { none, enter, leave };

/// One of the program's own events.
struct RaisedEvent {
    ThreadId thread;            ///< None: an important one's, of which a file does not say it.
    std::uint64_t time_ns = 0;  ///< 0: it has none. Of a scope with times, where it begins or ends.
    EventTypeId type;
    ScopeKind scope = ScopeKind::none;  ///< leave: nothing of the rest counts.
    std::uint64_t serial = 0;           ///< Orders those of all threads; 0: NoSync.
    std::vector<std::byte> fixed;       ///< The fields of fixed size, without gaps.
    struct Variable {
        std::uint8_t field = 0;  ///< Index in the type.
        std::vector<std::byte> data;
    };
    std::vector<Variable> variable;
};

using Instrumentation =
    std::variant<ZoneSpec, ZoneNote, CounterSpec, CounterValue, FrameKind, FrameEdge, RegionBegin,
                 RegionEnd, MessageSpec, Message, Flow, ThreadGroup, Channel, ChannelToggle,
                 InstrumentationLoss, EventTypeSpec, RaisedEvent, HeapSpec, MemoryTagSpec,
                 CallStack>;

}  // namespace sample::trace

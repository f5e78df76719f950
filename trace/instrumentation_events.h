// The container's own events of what programs say of themselves, as the public facts describe them,
// and ours ("Sample.…") for what it has no event for. Between these and the plain values of
// trace/instrumentation.h go InstrumentationWriter and InstrumentationReader.
//
// A file declares those that it uses. A cycle is a nanosecond in ours; in a foreign file it is what
// $Trace.NewTrace says. Fields that a foreign file lacks read as 0 or nothing.
#pragma once

#include "trace/instrumentation.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::trace {

/// Of a message, or of a note; more are left out.
inline constexpr std::size_t kMaxArgumentBytes = std::size_t{32} * 1024;

struct TimerSpecEvent {
    std::uint32_t id = 0;
    std::uint32_t line = 0;
    std::string name;
    std::string file;
};
template <>
inline constexpr auto kType<TimerSpecEvent> =
    event_type(64, "CpuProfiler", "EventSpec", number("Id", &TimerSpecEvent::id),
               number("Line", &TimerSpecEvent::line), text("Name", &TimerSpecEvent::name),
               text("File", &TimerSpecEvent::file, kMaxPathBytes));

/// trace/zone_batch.h.
struct TimerBatchEvent {
    std::span<const std::byte> data;
};
template <>
inline constexpr auto kType<TimerBatchEvent> =
    thread_event_type(65, "CpuProfiler", "EventBatchV3", bytes("Data", &TimerBatchEvent::data));

/// What is said of the zones of one name: trace/cbor.h.
struct MetadataSpecEvent {
    std::uint32_t id = 0;  ///< The zone's.
    std::string name;
    std::string name_format;
    std::vector<std::uint8_t> field_names;
};
template <>
inline constexpr auto kType<MetadataSpecEvent> = event_type(
    66, "CpuProfiler", "MetadataSpec", number("Id", &MetadataSpecEvent::id),
    text("Name", &MetadataSpecEvent::name), text("NameFormat", &MetadataSpecEvent::name_format),
    bytes("FieldNames", &MetadataSpecEvent::field_names, kMaxArgumentBytes));

struct MetadataEvent {
    std::uint32_t id = 0;
    std::uint32_t spec = 0;
    std::vector<std::uint8_t> values;
};
template <>
inline constexpr auto kType<MetadataEvent> = event_type(67, "CpuProfiler", "Metadata",
                                                        number("Id", &MetadataEvent::id),
                                                        number("SpecId", &MetadataEvent::spec),
                                                        bytes("Metadata", &MetadataEvent::values,
                                                              kMaxArgumentBytes));

/// The zones that are open on the thread end.
struct EndThreadEvent {
    std::uint64_t cycle = 0;
};
template <>
inline constexpr auto kType<EndThreadEvent> =
    thread_event_type(68, "CpuProfiler", "EndThread", number("Cycle", &EndThreadEvent::cycle));

struct CounterSpecEvent {
    std::uint16_t id = 0;
    std::uint8_t type = 0;          ///< 0 integers, 1 floating-point numbers.
    std::uint8_t display_hint = 0;  ///< 1: memory.
    std::string name;
};
template <>
inline constexpr auto kType<CounterSpecEvent> = event_type(
    69, "Counters", "Spec", number("Id", &CounterSpecEvent::id),
    number("Type", &CounterSpecEvent::type), number("DisplayHint", &CounterSpecEvent::display_hint),
    text("Name", &CounterSpecEvent::name));

struct CounterIntegerEvent {
    std::uint64_t cycle = 0;
    std::int64_t value = 0;
    std::uint16_t counter = 0;
};
template <>
inline constexpr auto kType<CounterIntegerEvent> =
    thread_event_type(70, "Counters", "SetValueInt", number("Cycle", &CounterIntegerEvent::cycle),
                      number("Value", &CounterIntegerEvent::value),
                      number("CounterId", &CounterIntegerEvent::counter));

struct CounterRealEvent {
    std::uint64_t cycle = 0;
    double value = 0;
    std::uint16_t counter = 0;
};
template <>
inline constexpr auto kType<CounterRealEvent> = thread_event_type(
    71, "Counters", "SetValueFloat", number("Cycle", &CounterRealEvent::cycle),
    number("Value", &CounterRealEvent::value), number("CounterId", &CounterRealEvent::counter));

struct BookmarkSpecEvent {
    std::uint64_t point = 0;
    std::int32_t line = 0;
    std::string format;
    std::string file;
};
template <>
inline constexpr auto kType<BookmarkSpecEvent> = event_type(
    72, "Misc", "BookmarkSpec", number("BookmarkPoint", &BookmarkSpecEvent::point),
    number("Line", &BookmarkSpecEvent::line), text("FormatString", &BookmarkSpecEvent::format),
    text("FileName", &BookmarkSpecEvent::file, kMaxPathBytes));

struct BookmarkEvent {
    std::uint64_t cycle = 0;
    std::uint64_t point = 0;
    std::uint32_t callstack = 0;
    std::span<const std::byte> arguments;
};
template <>
inline constexpr auto kType<BookmarkEvent> =
    thread_event_type(73, "Misc", "Bookmark", number("Cycle", &BookmarkEvent::cycle),
                      number("BookmarkPoint", &BookmarkEvent::point),
                      number("CallstackId", &BookmarkEvent::callstack),
                      bytes("FormatArgs", &BookmarkEvent::arguments, kMaxArgumentBytes));

struct RegionBeginEvent {
    std::uint64_t cycle = 0;
    std::string name;
    std::string category;
};
template <>
inline constexpr auto kType<RegionBeginEvent> = thread_event_type(
    74, "Misc", "RegionBegin", number("Cycle", &RegionBeginEvent::cycle),
    text("RegionName", &RegionBeginEvent::name), text("Category", &RegionBeginEvent::category));

/// The time when it begins is its number, too.
struct RegionBeginWithIdEvent {
    std::uint64_t cycle_and_id = 0;
    std::string name;
    std::string category;
};
template <>
inline constexpr auto kType<RegionBeginWithIdEvent> = thread_event_type(
    75, "Misc", "RegionBeginWithId", number("CycleAndId", &RegionBeginWithIdEvent::cycle_and_id),
    text("RegionName", &RegionBeginWithIdEvent::name),
    text("Category", &RegionBeginWithIdEvent::category));

struct RegionEndEvent {
    std::uint64_t cycle = 0;
    std::string name;
};
template <>
inline constexpr auto kType<RegionEndEvent> =
    thread_event_type(76, "Misc", "RegionEnd", number("Cycle", &RegionEndEvent::cycle),
                      text("RegionName", &RegionEndEvent::name));

struct RegionEndWithIdEvent {
    std::uint64_t cycle = 0;
    std::uint64_t region = 0;
};
template <>
inline constexpr auto kType<RegionEndWithIdEvent> =
    thread_event_type(77, "Misc", "RegionEndWithId", number("Cycle", &RegionEndWithIdEvent::cycle),
                      number("RegionId", &RegionEndWithIdEvent::region));

struct FrameBeginEvent {
    std::uint64_t cycle = 0;
    std::uint8_t kind = 0;
};
template <>
inline constexpr auto kType<FrameBeginEvent> =
    thread_event_type(78, "Misc", "BeginFrame", number("Cycle", &FrameBeginEvent::cycle),
                      number("FrameType", &FrameBeginEvent::kind));

struct FrameEndEvent {
    std::uint64_t cycle = 0;
    std::uint8_t kind = 0;
};
template <>
inline constexpr auto kType<FrameEndEvent> =
    thread_event_type(79, "Misc", "EndFrame", number("Cycle", &FrameEndEvent::cycle),
                      number("FrameType", &FrameEndEvent::kind));

struct LogCategoryEvent {
    std::uint64_t pointer = 0;
    std::uint8_t default_verbosity = 0;
    std::string name;
};
template <>
inline constexpr auto kType<LogCategoryEvent> =
    event_type(80, "Logging", "LogCategory", number("CategoryPointer", &LogCategoryEvent::pointer),
               number("DefaultVerbosity", &LogCategoryEvent::default_verbosity),
               text("Name", &LogCategoryEvent::name));

struct LogMessageSpecEvent {
    std::uint64_t point = 0;
    std::uint64_t category = 0;
    std::int32_t line = 0;
    std::uint8_t verbosity = 0;
    std::string file;
    std::string format;
};
template <>
inline constexpr auto kType<LogMessageSpecEvent> =
    event_type(81, "Logging", "LogMessageSpec", number("LogPoint", &LogMessageSpecEvent::point),
               number("CategoryPointer", &LogMessageSpecEvent::category),
               number("Line", &LogMessageSpecEvent::line),
               number("Verbosity", &LogMessageSpecEvent::verbosity),
               text("FileName", &LogMessageSpecEvent::file, kMaxPathBytes),
               text("FormatString", &LogMessageSpecEvent::format));

struct LogMessageEvent {
    std::uint64_t point = 0;
    std::uint64_t cycle = 0;
    std::span<const std::byte> arguments;
};
template <>
inline constexpr auto kType<LogMessageEvent> =
    thread_event_type(82, "Logging", "LogMessage", number("LogPoint", &LogMessageEvent::point),
                      number("Cycle", &LogMessageEvent::cycle),
                      bytes("FormatArgs", &LogMessageEvent::arguments, kMaxArgumentBytes));

struct ChannelAnnounceEvent {
    std::uint32_t id = 0;
    bool is_enabled = false;
    bool is_read_only = false;
    std::string name;
};
template <>
inline constexpr auto kType<ChannelAnnounceEvent> =
    event_type(83, "Trace", "ChannelAnnounce", number("Id", &ChannelAnnounceEvent::id),
               number("IsEnabled", &ChannelAnnounceEvent::is_enabled),
               number("ReadOnly", &ChannelAnnounceEvent::is_read_only),
               text("Name", &ChannelAnnounceEvent::name));

struct ChannelToggleEvent {
    std::uint32_t id = 0;
    bool is_enabled = false;
};
template <>
inline constexpr auto kType<ChannelToggleEvent> =
    event_type(84, "Trace", "ChannelToggle", number("Id", &ChannelToggleEvent::id),
               number("IsEnabled", &ChannelToggleEvent::is_enabled));

/// The threads that $Trace.ThreadInfo names from here on belong together, to the end of the group.
struct ThreadGroupBeginEvent {
    std::string name;
};
template <>
inline constexpr auto kType<ThreadGroupBeginEvent> =
    event_type(85, "$Trace", "ThreadGroupBegin", text("Name", &ThreadGroupBeginEvent::name));
struct ThreadGroupEndEvent {};
template <>
inline constexpr auto kType<ThreadGroupEndEvent> = event_type(86, "$Trace", "ThreadGroupEnd");

/// What times of scopes on this thread are relative to.
struct ThreadTimingEvent {
    std::uint64_t base = 0;
};
template <>
inline constexpr auto kType<ThreadTimingEvent> = thread_event_type(
    87, "$Trace", "ThreadTiming", number("BaseTimestamp", &ThreadTimingEvent::base));

/// Ours, before the EventSpec of that id.
struct ZoneStyleEvent {
    std::uint32_t id = 0;
    std::uint32_t colour = kNoColour;
    std::string category;
};
template <>
inline constexpr auto kType<ZoneStyleEvent> = record_type(
    48, "ZoneStyle", number("Id", &ZoneStyleEvent::id), number("Colour", &ZoneStyleEvent::colour),
    text("Category", &ZoneStyleEvent::category));

template <>
inline constexpr auto kType<FrameKind> = record_type(49, "FrameKind",
                                                     number("FrameType", &FrameKind::kind),
                                                     text("Name", &FrameKind::name));

/// Before the Counters.Spec of that id, if the counter is not the first process's.
struct CounterProcessEvent {
    std::uint16_t id = 0;
    ProcessId process;
};
template <>
inline constexpr auto kType<CounterProcessEvent> =
    record_type(50, "CounterProcess", number("Id", &CounterProcessEvent::id),
                known("ProcessId", &CounterProcessEvent::process));

template <>
inline constexpr auto kType<InstrumentationLoss> = record_type(
    51, "InstrumentationLoss", known("ThreadId", &InstrumentationLoss::thread),
    number("Time", &InstrumentationLoss::time_ns), number("Zones", &InstrumentationLoss::zones),
    number("Others", &InstrumentationLoss::others));

struct FlowEvent {
    std::uint64_t time_ns = 0;
    std::uint64_t flow = 0;
    FlowStep step = FlowStep::begin;
};
template <>
inline constexpr auto kType<FlowEvent> =
    stream_type(52, "Flow", number("Time", &FlowEvent::time_ns), number("Flow", &FlowEvent::flow),
                choice("Step", &FlowEvent::step, FlowStep::end, FlowStep::step));

/// When the thread's next event of the program's own was, if that has no serial number.
struct EventTimeEvent {
    std::uint64_t time_ns = 0;
};
template <>
inline constexpr auto kType<EventTimeEvent> = stream_type(53, "EventTime",
                                                          number("Time", &EventTimeEvent::time_ns));

/// The same of one with a serial number, directly before which it has one of its own.
struct OrderedEventTimeEvent {
    std::uint64_t time_ns = 0;
};
template <>
inline constexpr auto kType<OrderedEventTimeEvent> =
    ordered(stream_type(54, "OrderedEventTime", number("Time", &OrderedEventTimeEvent::time_ns)));

}  // namespace sample::trace

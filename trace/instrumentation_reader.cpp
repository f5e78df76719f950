#include "trace/instrumentation_reader.h"

#include "trace/event_writer.h"

#include <algorithm>
#include <bit>

namespace sample::trace {
namespace {

constexpr const char* kUnknown = "[unknown]";

std::string full_event_name(const EventSpec& spec) {
    return std::string{spec.logger}.append(".").append(spec.name);
}

template <class Use>
void for_each_definition(const Use& use) {
    const auto with = [&use](auto... events) { (use(events), ...); };
    with(ZoneStyleEvent{}, TimerSpecEvent{}, MetadataSpecEvent{}, CounterProcessEvent{},
         CounterSpecEvent{}, FrameKind{}, BookmarkSpecEvent{}, LogCategoryEvent{},
         LogMessageSpecEvent{}, ChannelAnnounceEvent{}, ThreadGroupBeginEvent{},
         ThreadGroupEndEvent{});
}

/// What the event's type declares, in the order of its fields.
void take_fields(const EventView& event, RaisedEvent& out) {
    const std::vector<DeclaredField>& fields = event.type().fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const DeclaredField& field = fields[i];
        if (field.is_array()) {
            const std::span<const std::byte> data = event.bytes(field.name);
            if (!data.empty()) {
                out.variable.push_back({static_cast<std::uint8_t>(i), {data.begin(), data.end()}});
            }
        } else if (!field.is_float()) {
            wire::append(out.fixed, event.number<std::uint64_t>(field.name), field.size);
        } else if (field.size == sizeof(float)) {
            const auto value = static_cast<float>(event.real(field.name));
            wire::append(out.fixed, std::bit_cast<std::uint32_t>(value), sizeof value);
        } else {
            wire::append(out.fixed, std::bit_cast<std::uint64_t>(event.real(field.name)),
                         field.size);
        }
    }
}

}  // namespace

std::string InstrumentationReader::problem() const {
    std::string words;
    const auto add = [&words](std::uint64_t count, const char* of_one, const char* of_many) {
        if (count != 0) {
            words += (words.empty() ? "" : "; ") + std::to_string(count) + " " +
                     (count == 1 ? of_one : of_many);
        }
    };
    add(zones_.damaged_batches(), "batch of zones is damaged", "batches of zones are damaged");
    add(reading_.undefined, "event refers to what is not defined",
        "events refer to what is not defined");
    add(reading_.left_out, "definition is left out: there are too many",
        "definitions are left out: there are too many");
    return words;
}

template <class Take>
EventReader::Handler InstrumentationReader::in_session(const Take& take) {
    return [this, take](const EventView& event) -> std::optional<std::string> {
        if (!origin_.has_begun()) {
            return "an event precedes the session's";
        }
        take(event);
        return std::nullopt;
    };
}

template <class Event>
void InstrumentationReader::on(EventReader& reader) {
    reader.subscribe(full_event_name(kSpec<Event>), in_session([this](const EventView& event) {
                         take(read_event<Event>(event));
                     }));
}

template <class Event>
void InstrumentationReader::on_thread(EventReader& reader) {
    reader.subscribe(full_event_name(kSpec<Event>), in_session([this](const EventView& event) {
                         if (ThreadState* const its = state(event.stream())) {
                             take(*its, read_event<Event>(event));
                         } else {
                             ++reading_.undefined;
                         }
                     }));
}

void InstrumentationReader::on_batch(EventReader& reader, std::string_view name,
                                     ZoneBatchVersion version) {
    reader.subscribe(name, in_session([this, version](const EventView& event) {
                         if (ThreadState* const its = state(event.stream())) {
                             zones_.take_batch(its->id, its->zones, event, version);
                         } else {
                             ++reading_.undefined;
                         }
                     }));
}

void InstrumentationReader::subscribe_definitions(EventReader& reader) {
    for_each_definition([&](auto event) { on<decltype(event)>(reader); });
    memory_.subscribe_definitions(
        reader,
        [this](const std::function<void(const EventView&)>& take) { return in_session(take); });
}

void InstrumentationReader::skip_definitions(EventReader& reader) {
    for_each_definition([&](auto event) {
        reader.subscribe(full_event_name(kSpec<decltype(event)>),
                         [](const EventView&) { return std::nullopt; });
    });
    MemoryReader::skip_definitions(reader);
}

void InstrumentationReader::subscribe_events(EventReader& reader) {
    on_batch(reader, "CpuProfiler.EventBatch", ZoneBatchVersion::v1);
    on_batch(reader, "CpuProfiler.EventBatchV2", ZoneBatchVersion::v2);
    on_batch(reader, "CpuProfiler.EventBatchV3", ZoneBatchVersion::v3);
    on<MetadataEvent>(reader);
    on<ChannelToggleEvent>(reader);
    on<InstrumentationLoss>(reader);
    on_thread<EndThreadEvent>(reader);
    on_thread<CounterIntegerEvent>(reader);
    on_thread<CounterRealEvent>(reader);
    on_thread<BookmarkEvent>(reader);
    on_thread<LogMessageEvent>(reader);
    on_thread<RegionBeginEvent>(reader);
    on_thread<RegionBeginWithIdEvent>(reader);
    on_thread<RegionEndEvent>(reader);
    on_thread<RegionEndWithIdEvent>(reader);
    on_thread<FrameBeginEvent>(reader);
    on_thread<FrameEndEvent>(reader);
    on_thread<FlowEvent>(reader);
    on_thread<EventTimeEvent>(reader);
    on_thread<OrderedEventTimeEvent>(reader);
    memory_.subscribe_events(reader, [this](const std::function<void(const EventView&)>& take) {
        return in_session(take);
    });
    // What times of scopes are relative to is the EventReader's matter.
    reader.subscribe(full_event_name(kSpec<ThreadTimingEvent>),
                     [](const EventView&) { return std::nullopt; });
    reader.subscribe_to_others(in_session([this](const EventView& event) { take_raised(event); }));
}

/// nullptr: it is no thread's stream.
InstrumentationReader::ThreadState* InstrumentationReader::state(std::uint16_t stream) {
    const auto found = threads_.find(stream);
    if (found != threads_.end()) {
        return &found->second;
    }
    const ThreadId id = origin_.thread(stream);
    if (id.is_none()) {
        return nullptr;
    }
    ThreadState& its = threads_[stream];
    its.id = id;
    return &its;
}

void InstrumentationReader::take(ThreadState& its, const CounterIntegerEvent& event) {
    take_value(its.id, event.cycle, event.counter, event.value);
}

void InstrumentationReader::take(ThreadState& its, const CounterRealEvent& event) {
    take_value(its.id, event.cycle, event.counter, event.value);
}

void InstrumentationReader::take_value(ThreadId thread, std::uint64_t cycle, std::uint16_t counter,
                                       std::variant<std::int64_t, double> value) {
    const std::uint32_t id = counters_.find(counter);
    if (id == 0) {
        ++reading_.undefined;
        return;
    }
    reading_.hand_on(CounterValue{thread, reading_.time(cycle), CounterId{id}, value});
}

void InstrumentationReader::take(const CounterProcessEvent& event) {
    if (origin_.knows(event.process)) {
        counter_processes_[event.id] = event.process;
    } else {
        ++reading_.undefined;
    }
}

void InstrumentationReader::take(const CounterSpecEvent& event) {
    if (counters_.find(event.id) != 0 || !reading_.has_room(0, event.name.size())) {
        return;
    }
    const auto process = counter_processes_.find(event.id);
    const ProcessId owner = process == counter_processes_.end() ? ProcessId{1} : process->second;
    if (!origin_.knows(owner)) {
        ++reading_.undefined;
        return;
    }
    reading_.hand_on(CounterSpec{CounterId{counters_.add(event.id)}, owner, event.name,
                                 event.type == 1, event.display_hint == 1});
}

void InstrumentationReader::take(const FrameKind& kind) {
    reading_.hand_on(kind);
}

void InstrumentationReader::take(ThreadState& its, const FrameBeginEvent& event) {
    reading_.hand_on(FrameEdge{its.id, reading_.time(event.cycle), event.kind, true});
}

void InstrumentationReader::take(ThreadState& its, const FrameEndEvent& event) {
    reading_.hand_on(FrameEdge{its.id, reading_.time(event.cycle), event.kind, false});
}

void InstrumentationReader::take(ThreadState& its, const RegionBeginEvent& event) {
    reading_.hand_on(
        RegionBegin{its.id, reading_.time(event.cycle), 0, event.name, event.category});
}

void InstrumentationReader::take(ThreadState& its, const RegionBeginWithIdEvent& event) {
    reading_.hand_on(RegionBegin{its.id, reading_.time(event.cycle_and_id), event.cycle_and_id,
                                 event.name, event.category});
}

void InstrumentationReader::take(ThreadState& its, const RegionEndEvent& event) {
    reading_.hand_on(RegionEnd{its.id, reading_.time(event.cycle), 0, event.name});
}

void InstrumentationReader::take(ThreadState& its, const RegionEndWithIdEvent& event) {
    reading_.hand_on(RegionEnd{its.id, reading_.time(event.cycle), event.region, {}});
}

void InstrumentationReader::define_message(std::unordered_map<std::uint64_t, MessageId>& points,
                                           std::uint64_t point, MessageSpec spec) {
    if (points.contains(point) ||
        !reading_.has_room(
            0, sizeof spec + spec.category.size() + spec.format.size() + spec.file.size())) {
        return;
    }
    spec.id = MessageId{++messages_};
    points.emplace(point, spec.id);
    reading_.hand_on(spec);
}

void InstrumentationReader::take(const BookmarkSpecEvent& event) {
    MessageSpec spec;
    spec.is_bookmark = true;
    spec.format = event.format;
    spec.file = event.file;
    spec.line = static_cast<std::uint32_t>(event.line);
    define_message(bookmarks_, event.point, std::move(spec));
}

void InstrumentationReader::take(const LogCategoryEvent& event) {
    if (reading_.has_room(event.name.size(), 0)) {
        categories_[event.pointer] = event.name;
    }
}

void InstrumentationReader::take(const LogMessageSpecEvent& event) {
    constexpr auto kLast = static_cast<std::uint8_t>(Verbosity::very_verbose);
    const auto category = categories_.find(event.category);
    MessageSpec spec;
    spec.category = category == categories_.end() ? kUnknown : category->second;
    spec.verbosity = static_cast<Verbosity>(std::min(event.verbosity, kLast));
    spec.format = event.format;
    spec.file = event.file;
    spec.line = static_cast<std::uint32_t>(event.line);
    define_message(logs_, event.point, std::move(spec));
}

MessageId InstrumentationReader::unknown_message(MessageId& id, bool is_bookmark) {
    if (id.is_none()) {
        id = MessageId{++messages_};
        MessageSpec spec;
        spec.id = id;
        spec.is_bookmark = is_bookmark;
        spec.format = kUnknown;
        reading_.hand_on(spec);
    }
    return id;
}

void InstrumentationReader::take_message(ThreadId thread, std::uint64_t cycle, MessageId spec,
                                         std::span<const std::byte> arguments) {
    reading_.hand_on(
        Message{thread, reading_.time(cycle), spec, {arguments.begin(), arguments.end()}});
}

void InstrumentationReader::take(ThreadState& its, const BookmarkEvent& event) {
    const auto spec = bookmarks_.find(event.point);
    take_message(its.id, event.cycle,
                 spec == bookmarks_.end() ? unknown_message(unknown_bookmark_, true) : spec->second,
                 event.arguments);
}

void InstrumentationReader::take(ThreadState& its, const LogMessageEvent& event) {
    const auto spec = logs_.find(event.point);
    take_message(its.id, event.cycle,
                 spec == logs_.end() ? unknown_message(unknown_log_, false) : spec->second,
                 event.arguments);
}

void InstrumentationReader::take(ThreadState& its, const FlowEvent& event) {
    reading_.hand_on(Flow{its.id, reading_.time(event.time_ns), event.flow, event.step});
}

void InstrumentationReader::take(ThreadState& its, const EventTimeEvent& event) {
    its.event_ns = reading_.time(event.time_ns);
}

void InstrumentationReader::take(ThreadState& its, const OrderedEventTimeEvent& event) {
    its.event_ns = reading_.time(event.time_ns);
}

void InstrumentationReader::take(const ChannelAnnounceEvent& event) {
    if (channels_.find(event.id) == 0 && reading_.has_room(0, event.name.size())) {
        reading_.hand_on(Channel{ChannelId{channels_.add(event.id)}, event.name, event.is_enabled,
                                 event.is_read_only});
    }
}

void InstrumentationReader::take(const ChannelToggleEvent& event) {
    const std::uint32_t id = channels_.find(event.id);
    if (id == 0) {
        ++reading_.undefined;
        return;
    }
    reading_.hand_on(ChannelToggle{ChannelId{id}, event.is_enabled});
}

void InstrumentationReader::take(const ThreadGroupBeginEvent& event) {
    group_ = event.name;
}

void InstrumentationReader::take(const ThreadGroupEndEvent& /*event*/) {
    group_.clear();
}

void InstrumentationReader::take_thread_info(std::uint32_t number) {
    const ThreadId thread = group_.empty() ? ThreadId{} : origin_.thread(number);
    if (thread.is_none()) {
        return;
    }
    // It is named again whenever its name changes.
    const auto known = groups_.find(thread.value);
    if ((known == groups_.end() || known->second != group_) &&
        reading_.has_room(group_.size(), 0)) {
        groups_[thread.value] = group_;
        reading_.hand_on(ThreadGroup{thread, group_});
    }
}

void InstrumentationReader::take(const InstrumentationLoss& loss) {
    InstrumentationLoss told = loss;
    told.thread = origin_.thread(EventWriter::kDataStream + loss.thread.value);
    if (told.thread.is_none()) {
        ++reading_.undefined;
        return;
    }
    reading_.hand_on(told);
}

EventTypeId InstrumentationReader::raised_type(const EventType& type) {
    const auto known = types_.find(&type);
    if (known != types_.end()) {
        return known->second;
    }
    const EventTypeId id{static_cast<std::uint32_t>(types_.size()) + 1};
    types_.emplace(&type, id);
    EventTypeSpec spec;
    spec.id = id;
    const std::size_t dot = type.name.find('.');
    spec.logger = type.name.substr(0, dot);
    spec.name = type.name.substr(dot + 1);
    spec.flags = type.flags;
    for (const DeclaredField& field : type.fields) {
        spec.fields.push_back({field.name, field.type_code});
    }
    reading_.hand_on(spec);
    return id;
}

void InstrumentationReader::take_raised(const EventView& event) {
    const EventType& type = event.type();
    const bool is_of_thread = event.stream() >= wire::kFirstThreadStream;
    ThreadState* const its = is_of_thread ? state(event.stream()) : nullptr;
    if (type.name.starts_with("Sample.") || type.name.starts_with("$Trace.") ||
        (is_of_thread && its == nullptr)) {
        ++unknown_events_;
        return;
    }
    RaisedEvent out;
    if (its != nullptr) {
        out.thread = its->id;
        out.time_ns = std::exchange(its->event_ns, 0);
    }
    out.type = raised_type(type);
    if (const auto cycle = event.occurrence().cycle) {
        out.time_ns = reading_.time(*cycle);
    } else if (!origin_.is_ours && event.style() != EventStyle::leave && type.field("Cycle")) {
        out.time_ns = reading_.time(event.number<std::uint64_t>("Cycle"));
    }
    if (const auto serial = event.occurrence().serial) {
        out.serial = std::uint64_t{*serial} + 1;
    }
    out.scope = event.style() == EventStyle::enter   ? ScopeKind::enter
                : event.style() == EventStyle::leave ? ScopeKind::leave
                                                     : ScopeKind::none;
    if (out.scope != ScopeKind::leave) {
        take_fields(event, out);
    }
    reading_.hand_on(out);
}

}  // namespace sample::trace

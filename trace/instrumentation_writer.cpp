#include "trace/instrumentation_writer.h"

#include "core/units.h"
#include "trace/cbor.h"

#include <algorithm>
#include <type_traits>

namespace sample::trace {
namespace {

constexpr std::uint16_t kFirstRaisedUid = 0x400;
constexpr std::uint16_t kLastRaisedUid = 0x7fff;
constexpr std::size_t kMostRegions = std::size_t{1} << 16;
constexpr std::size_t kMaxNameBytes = 0xff;
constexpr std::size_t kMaxFields = 32;
constexpr std::size_t kMaxRaisedBytes = std::size_t{1}
                                        << 19;  ///< A block has 19 bits for its size.
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kMostReleases = 50;  ///< What has no time waits so long: a second, mostly.

/// Threads behind the last stream have none.
constexpr bool has_stream(ThreadId thread) {
    return EventWriter::kDataStream + std::uint64_t{thread.value} <= wire::kLastThreadStream;
}

/// Whether `id` is one of the first `known`, which begin with 1.
constexpr bool knows(std::uint32_t id, std::size_t known) {
    return id >= 1 && id <= known;
}

}  // namespace

std::uint16_t InstrumentationWriter::stream_of(ThreadId thread) {
    return static_cast<std::uint16_t>(EventWriter::kDataStream + thread.value);
}

bool InstrumentationWriter::is_next(std::uint32_t id, std::size_t known) const noexcept {
    return id == known + 1;
}

bool InstrumentationWriter::admits(const ZoneEdge& edge) const noexcept {
    return edge.zone.value <= zones_.size() && edge.note.value <= notes_ &&
           (edge.kind != EdgeKind::begin || !edge.zone.is_none());
}

bool InstrumentationWriter::admits(const RaisedEvent& event) const noexcept {
    const bool is_known = knows(event.type.value, types_.size());
    return event.thread.is_none()
               ? is_known && (types_[event.type.value - 1].spec.flags & wire::kImportant) != 0
               : event.scope == ScopeKind::leave || is_known;
}

bool InstrumentationWriter::admits(const Instrumentation& said) const {
    return std::visit(
        [&](const auto& one) {
            using Said = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<Said, ZoneSpec>) {
                return is_next(one.id.value, zones_.size());
            } else if constexpr (std::is_same_v<Said, ZoneNote>) {
                return is_next(one.id.value, notes_) && knows(one.zone.value, zones_.size());
            } else if constexpr (std::is_same_v<Said, CounterSpec>) {
                return is_next(one.id.value, counters_);
            } else if constexpr (std::is_same_v<Said, CounterValue>) {
                return knows(one.counter.value, counters_);
            } else if constexpr (std::is_same_v<Said, MessageSpec>) {
                return is_next(one.id.value, is_bookmark_.size());
            } else if constexpr (std::is_same_v<Said, Message>) {
                return knows(one.spec.value, is_bookmark_.size());
            } else if constexpr (std::is_same_v<Said, Channel>) {
                return is_next(one.id.value, channels_);
            } else if constexpr (std::is_same_v<Said, ChannelToggle>) {
                return knows(one.channel.value, channels_);
            } else if constexpr (std::is_same_v<Said, EventTypeSpec>) {
                return is_next(one.id.value, types_.size());
            } else if constexpr (std::is_same_v<Said, HeapSpec> ||
                                 std::is_same_v<Said, MemoryTagSpec>) {
                return memory_.is_next(one.id) && memory_.knows(one.parent);
            } else if constexpr (std::is_same_v<Said, RaisedEvent>) {
                return admits(one);
            } else {
                return true;
            }
        },
        said);
}

void InstrumentationWriter::add(const Instrumentation& said) {
    std::visit([this](const auto& one) { say(one); }, said);
}

void InstrumentationWriter::add(const MemoryEvent& event) {
    if (!has_stream(event.thread)) {
        lose(event.thread, event.time_ns);
        return;
    }
    memory_.add(event);
    wait(event.time_ns);
}

void InstrumentationWriter::wait(std::uint64_t time_ns) noexcept {
    something_waits_ = true;
    oldest_ns_ = std::min(oldest_ns_, time_ns);
    newest_ns_ = std::max(newest_ns_, time_ns);
}

bool InstrumentationWriter::is_overdue() const noexcept {
    const bool is_long = newest_ns_ > oldest_ns_ && newest_ns_ - oldest_ns_ >= kNsPerSecond;
    return something_waits_ && (is_long || releases_ >= kMostReleases);
}

template <class Event>
void InstrumentationWriter::declare() {
    constexpr const EventSpec& kDeclared = kSpec<Event>;
    if (!declared_[kDeclared.uid]) {
        declared_[kDeclared.uid] = true;
        events_.declare({&kDeclared, 1});
    }
}

template <class Event>
void InstrumentationWriter::write(const Event& event) {
    declare<Event>();
    events_.add(event);
}

template <class Event>
void InstrumentationWriter::write(ThreadId thread, std::uint64_t time_ns, const Event& event) {
    if (!has_stream(thread)) {
        lose(thread, time_ns);
        return;
    }
    close_batch(thread);
    declare<Event>();
    events_.add(event, kSpec<Event>, stream_of(thread));
    wait(time_ns);
}

void InstrumentationWriter::lose(ThreadId thread, std::uint64_t time_ns, bool is_zone) {
    InstrumentationLoss& loss = losses_[thread];
    loss.thread = thread;
    loss.time_ns = std::max(loss.time_ns, time_ns);
    ++(is_zone ? loss.zones : loss.others);
}

void InstrumentationWriter::tell_losses() {
    for (const auto& [thread, loss] : losses_) {
        write(loss);
    }
    losses_.clear();
}

void InstrumentationWriter::add(const ZoneEdge& edge) {
    if (!has_stream(edge.thread)) {
        if (edge.kind == EdgeKind::begin) {
            lose(edge.thread, edge.time_ns, true);
        }
        return;
    }
    ThreadState& its = state(edge.thread);
    if (its.zones.is_full()) {
        close_batch(edge.thread);
    }
    if (its.zones.data().empty()) {
        filling_.push_back(edge.thread);
    }
    its.zones.add(edge);
    if (!its.has_zones) {
        its.has_zones = true;
        processes_[its.process.value].with_zones.push_back(edge.thread);
    }
    wait(edge.time_ns);
}

/// The thread stays in filling_ if it is there.
void InstrumentationWriter::close_batch(ThreadId thread) {
    ZoneBatchEncoder& zones = state(thread).zones;
    if (!zones.data().empty()) {
        declare<TimerBatchEvent>();
        events_.add(TimerBatchEvent{zones.data()}, kSpec<TimerBatchEvent>, stream_of(thread));
        zones.clear();
    }
}

void InstrumentationWriter::close_all() {
    for (const ThreadId thread : filling_) {
        close_batch(thread);
    }
    filling_.clear();
    tell_losses();
    oldest_ns_ = std::numeric_limits<std::uint64_t>::max();
    newest_ns_ = 0;
    something_waits_ = false;
    releases_ = 0;
}

void InstrumentationWriter::end_process(ProcessId process, std::uint64_t time_ns) {
    const auto its = processes_.find(process.value);
    if (its == processes_.end()) {
        return;
    }
    let_go(its->second, kAll);
    for (const ThreadId thread : its->second.with_zones) {
        write(thread, time_ns, EndThreadEvent{time_ns});
        state(thread).has_zones = false;
        state(thread).zones.restart();
    }
    processes_.erase(its);
}

void InstrumentationWriter::finish() {
    release(FlushMode::everything);
    for (const auto& [key, end] : early_ends_) {
        lose(end.thread, end.time_ns);
    }
    early_ends_.clear();
    close_all();
}

void InstrumentationWriter::say(const ZoneSpec& spec) {
    zones_.push_back({spec.name, false});
    if (spec.colour != kNoColour || !spec.category.empty()) {
        write(ZoneStyleEvent{spec.id.value, spec.colour, spec.category});
    }
    write(TimerSpecEvent{spec.id.value, spec.line, spec.name, spec.file});
}

void InstrumentationWriter::say(const ZoneNote& note) {
    ++notes_;
    ZoneState& zone = zones_[note.zone.value - 1];
    if (!zone.has_metadata) {
        zone.has_metadata = true;
        write(
            MetadataSpecEvent{note.zone.value, zone.name, zone.name, cbor_from_names(note.values)});
    }
    write(MetadataEvent{note.id.value, note.zone.value, cbor_from_values(note.values)});
}

void InstrumentationWriter::say(const CounterSpec& spec) {
    ++counters_;
    if (spec.id.value > std::numeric_limits<std::uint16_t>::max()) {
        return;  // Its values are lost, each of them counted.
    }
    const auto id = static_cast<std::uint16_t>(spec.id.value);
    if (spec.process.value != 1) {
        write(CounterProcessEvent{id, spec.process});
    }
    write(
        CounterSpecEvent{id, std::uint8_t{spec.is_real}, std::uint8_t{spec.is_memory}, spec.name});
}

void InstrumentationWriter::say(const CounterValue& value) {
    if (value.counter.value > std::numeric_limits<std::uint16_t>::max()) {
        lose(value.thread, value.time_ns);
        return;
    }
    const auto id = static_cast<std::uint16_t>(value.counter.value);
    if (const auto* const integer = std::get_if<std::int64_t>(&value.value)) {
        write(value.thread, value.time_ns, CounterIntegerEvent{value.time_ns, *integer, id});
    } else {
        write(value.thread, value.time_ns,
              CounterRealEvent{value.time_ns, std::get<double>(value.value), id});
    }
}

void InstrumentationWriter::say(const FrameEdge& edge) {
    if (edge.is_begin) {
        write(edge.thread, edge.time_ns, FrameBeginEvent{edge.time_ns, edge.kind});
    } else {
        write(edge.thread, edge.time_ns, FrameEndEvent{edge.time_ns, edge.kind});
    }
}

void InstrumentationWriter::say(const RegionBegin& begin) {
    if (begin.region == 0) {
        write(begin.thread, begin.time_ns,
              RegionBeginEvent{begin.time_ns, begin.name, begin.category});
        return;
    }
    const RegionKey key{state(begin.thread).process.value, begin.region};
    const auto early = early_ends_.find(key);
    if (!has_stream(begin.thread) || open_regions_.size() >= kMostRegions) {
        lose(begin.thread, begin.time_ns);
        return;
    }
    // In the container the time is the region's number: those that are open have different ones.
    std::uint64_t number = begin.time_ns;
    while (region_numbers_.contains(number)) {
        ++number;
    }
    write(begin.thread, begin.time_ns, RegionBeginWithIdEvent{number, begin.name, begin.category});
    if (early != early_ends_.end()) {
        write_end(early->second, number);
        early_ends_.erase(early);
        return;
    }
    if (const auto open = open_regions_.find(key); open != open_regions_.end()) {
        region_numbers_.erase(open->second);
    }
    open_regions_[key] = number;
    region_numbers_.insert(number);
}

void InstrumentationWriter::write_end(const RegionEnd& end, std::uint64_t region) {
    // Its number is when it begins.
    write(end.thread, end.time_ns, RegionEndWithIdEvent{std::max(end.time_ns, region), region});
}

void InstrumentationWriter::say(const RegionEnd& end) {
    if (end.region == 0) {
        write(end.thread, end.time_ns, RegionEndEvent{end.time_ns, end.name});
        return;
    }
    const RegionKey key{state(end.thread).process.value, end.region};
    const auto open = open_regions_.find(key);
    if (open != open_regions_.end()) {
        write_end(end, open->second);
        region_numbers_.erase(open->second);
        open_regions_.erase(open);
    } else if (early_ends_.size() >= kMostRegions || !early_ends_.emplace(key, end).second) {
        lose(end.thread, end.time_ns);
    }
}

void InstrumentationWriter::say(const MessageSpec& spec) {
    is_bookmark_.push_back(spec.is_bookmark);
    const auto line = static_cast<std::int32_t>(spec.line);
    if (spec.is_bookmark) {
        write(BookmarkSpecEvent{spec.id.value, line, spec.format, spec.file});
        return;
    }
    const auto [category, is_new] =
        categories_.emplace(spec.category, std::uint64_t{categories_.size()} + 1);
    if (is_new) {
        write(LogCategoryEvent{category->second, static_cast<std::uint8_t>(Verbosity::log),
                               spec.category});
    }
    write(LogMessageSpecEvent{spec.id.value, category->second, line,
                              static_cast<std::uint8_t>(spec.verbosity), spec.file, spec.format});
}

void InstrumentationWriter::say(const Message& message) {
    if (is_bookmark_[message.spec.value - 1]) {
        write(message.thread, message.time_ns,
              BookmarkEvent{message.time_ns, message.spec.value, 0, message.arguments});
    } else {
        write(message.thread, message.time_ns,
              LogMessageEvent{message.spec.value, message.time_ns, message.arguments});
    }
}

void InstrumentationWriter::say(const Flow& flow) {
    write(flow.thread, flow.time_ns, FlowEvent{flow.time_ns, flow.flow, flow.step});
}

void InstrumentationWriter::say(const ThreadGroup& group) {
    if (!has_stream(group.thread)) {
        lose(group.thread, 0);
        return;
    }
    declare<ThreadGroupBeginEvent>();
    declare<ThreadGroupEndEvent>();
    standard_.beside(group);
}

void InstrumentationWriter::say(const Channel& channel) {
    ++channels_;
    write(ChannelAnnounceEvent{channel.id.value, channel.is_enabled, channel.is_read_only,
                               channel.name});
}

void InstrumentationWriter::say(const ChannelToggle& toggle) {
    write(ChannelToggleEvent{toggle.channel.value, toggle.is_enabled});
}

void InstrumentationWriter::say(const EventTypeSpec& spec) {
    Type& type = types_.emplace_back(Type{spec, {}, {}});
    const auto fits = [](const std::string& name) { return name.size() <= kMaxNameBytes; };
    const std::size_t uid = kFirstRaisedUid + types_.size() - 1;
    type.is_usable = uid <= kLastRaisedUid && spec.fields.size() <= kMaxFields &&
                     fits(spec.logger) && fits(spec.name) &&
                     std::all_of(spec.fields.begin(), spec.fields.end(),
                                 [&](const EventField& field) { return fits(field.name); });
    if (!type.is_usable) {
        return;  // Its events are lost, each of them counted.
    }
    unsigned flags = spec.flags & (wire::kImportant | wire::kNoSync);
    if (spec.flags & wire::kImportant) {
        flags |= wire::kNoSync;
    }
    for (const EventField& field : type.spec.fields) {
        const auto code = static_cast<FieldType>(field.type_code);
        type.fields.push_back({field.name, code});
        type.fixed_bytes += fixed_bytes(code);
        flags |= is_variable(code) ? wire::kMaybeHasAux : 0U;
    }
    type.declared = EventSpec{static_cast<std::uint16_t>(uid), static_cast<std::uint8_t>(flags),
                              type.spec.logger, type.spec.name, type.fields};
    events_.declare({&type.declared, 1});
}

/// How an event of a thread begins.
void InstrumentationWriter::encode_uid(const EventSpec& type) {
    wire::append(raised_.bytes, std::uint64_t{type.uid} << 1 | 1, 2);
    if (type.has_serial()) {
        raised_.serials_at.push_back(raised_.bytes.size());
        wire::append(raised_.bytes, 0, wire::kSerialBytes);
    }
}

void InstrumentationWriter::encode_time(const RaisedEvent& event, bool is_ordered) {
    is_ordered ? declare<OrderedEventTimeEvent>() : declare<EventTimeEvent>();
    encode_uid(is_ordered ? kSpec<OrderedEventTimeEvent> : kSpec<EventTimeEvent>);
    wire::append(raised_.bytes, event.time_ns, sizeof event.time_ns);
}

/// The byte, or with a time the eight bytes, that say that a scope begins or ends.
void InstrumentationWriter::encode_scope(const RaisedEvent& event) {
    const bool enters = event.scope == ScopeKind::enter;
    if (event.time_ns == 0) {
        const auto uid = enters ? wire::kEnterScopeUid : wire::kLeaveScopeUid;
        wire::append(raised_.bytes, std::uint64_t{uid} << 1, 1);
        return;
    }
    ThreadState& its = state(event.thread);
    if (!its.has_timing) {
        its.has_timing = true;
        its.base_ns = event.time_ns;
        declare<ThreadTimingEvent>();
        append_event(raised_.bytes, ThreadTimingEvent{its.base_ns});
    }
    const std::uint64_t since = std::max(event.time_ns, its.base_ns) - its.base_ns;
    const auto uid = enters ? wire::kEnterTimedScopeUid : wire::kLeaveTimedScopeUid;
    wire::append(raised_.bytes, since << 8 | std::uint64_t{uid} << 1, sizeof since);
}

void InstrumentationWriter::encode(const RaisedEvent& event, const EventSpec& type) {
    std::vector<std::byte>& out = raised_.bytes;
    const bool is_important = type.is_important();
    if (is_important) {
        wire::append(out, type.uid, 2);
        wire::append(out, 0, 2);  // the size, known below
    } else {
        encode_uid(type);
    }
    wire::append(out, event.fixed);
    const unsigned shift = is_important ? 0 : 1;
    for (const RaisedEvent::Variable& variable : event.variable) {
        const std::uint64_t head =
            std::uint64_t{wire::kAuxUid} << shift | std::uint64_t{variable.field} << 8;
        wire::append(out, head | std::uint64_t{variable.data.size()} << 13, 4);
        wire::append(out, variable.data);
    }
    if (type.has_aux()) {
        wire::append(out, std::uint64_t{wire::kAuxEndUid} << shift, 1);
    }
    if (is_important) {
        const std::size_t size = out.size() - 4;
        out[2] = static_cast<std::byte>(size);
        out[3] = static_cast<std::byte>(size >> 8);
    }
}

/// What the container can hold.
bool InstrumentationWriter::fits(const RaisedEvent& event, const Type& type) {
    std::size_t bytes = event.fixed.size();
    bool is_good = type.is_usable && bytes == type.fixed_bytes;
    for (const RaisedEvent::Variable& variable : event.variable) {
        bytes += variable.data.size() + 4;
        is_good = is_good && variable.field < type.fields.size() &&
                  is_variable(type.fields[variable.field].type);
    }
    return is_good &&
           bytes < (type.declared.is_important() ? wire::kMaxRecordBytes : kMaxRaisedBytes);
}

void InstrumentationWriter::say(const RaisedEvent& event) {
    const bool leaves = event.scope == ScopeKind::leave;
    const Type* const type = leaves ? nullptr : &types_[event.type.value - 1];
    const bool is_important = type != nullptr && type->declared.is_important();
    if ((type != nullptr && !fits(event, *type)) || (!is_important && !has_stream(event.thread))) {
        lose(event.thread, event.time_ns);
        return;
    }
    raised_.bytes.clear();
    raised_.serials_at.clear();
    if (is_important) {
        encode(event, type->declared);
        events_.add(type->declared, raised_.bytes);
        return;
    }
    if (event.scope != ScopeKind::none) {
        encode_scope(event);
    } else if (event.time_ns != 0) {
        encode_time(event, type->declared.has_serial());
    }
    if (type != nullptr) {
        encode(event, type->declared);
    }
    hand_on_raised(event);
    something_waits_ = true;
    if (event.time_ns != 0) {
        wait(event.time_ns);
    }
}

/// Into the thread's stream, unless it or one before it has a serial number.
void InstrumentationWriter::hand_on_raised(const RaisedEvent& event) {
    ThreadState& its = state(event.thread);
    const bool has_serial = !raised_.serials_at.empty();
    if (!has_serial && its.held_back == 0) {
        close_batch(event.thread);
        memory_.close_scope(event.thread);
        events_.add_to_thread(stream_of(event.thread), raised_.bytes);
        return;
    }
    ProcessState& process = processes_[its.process.value];
    its.last_serial = has_serial ? event.serial : its.last_serial;
    process.highest = std::max(process.highest, its.last_serial);
    ++its.held_back;
    raised_.serial = its.last_serial;
    raised_.thread = event.thread;
    process.held.push_back(raised_);
}

/// Writes what is held back with serial numbers up to `up_to`, in their order.
void InstrumentationWriter::let_go(ProcessState& process, std::uint64_t up_to) {
    const auto stays =
        std::stable_partition(process.held.begin(), process.held.end(),
                              [up_to](const Held& held) { return held.serial <= up_to; });
    std::stable_sort(process.held.begin(), stays, [](const Held& left, const Held& right) {
        return left.serial < right.serial;
    });
    for (auto held = process.held.begin(); held != stays; ++held) {
        for (const std::size_t at : held->serials_at) {
            for (std::size_t i = 0; i < wire::kSerialBytes; ++i) {
                held->bytes[at + i] = static_cast<std::byte>(next_serial_ >> (8 * i));
            }
            ++next_serial_;
        }
        close_batch(held->thread);
        memory_.close_scope(held->thread);
        events_.add_to_thread(stream_of(held->thread), held->bytes);
        --state(held->thread).held_back;
    }
    process.held.erase(process.held.begin(), stays);
}

void InstrumentationWriter::release(FlushMode mode) {
    ++releases_;
    memory_.release(mode);
    for (auto& [id, process] : processes_) {
        let_go(process, mode == FlushMode::everything ? kAll : process.watermark);
        process.watermark = process.highest;
    }
}

}  // namespace sample::trace

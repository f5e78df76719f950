#include "sampler/collector/instrumentation/lane_decoder.h"

#include "core/address.h"
#include "sample/trace_abi.h"
#include "sampler/collector/instrumentation/said_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sample::collector {
namespace {

using capture::DefinitionKind;
using capture::DefinitionStore;
using capture::LaneRecord;
using capture::NoteKind;
using capture::OtherKind;
using capture::OtherRecord;

/// As deep as a thread's chunk has room for ends.
constexpr std::size_t kMostOpen = capture::Chunk::kDataBytes / capture::kZoneEndBytes;
/// Definitions may share their bytes, if the process so wants.
constexpr std::size_t kMostKeptBytes = sizeof(DefinitionStore::text);

/// Of all fields that are of fixed size.
std::size_t fixed_bytes(const trace::EventTypeSpec& type) {
    std::size_t bytes = 0;
    for (const trace::EventField& field : type.fields) {
        bytes += (field.type_code & 0x80U) != 0 ? 0 : std::size_t{1} << (field.type_code & 3U);
    }
    return bytes;
}

/// What an event says, without where and when. None: it is no such event.
std::optional<trace::RaisedEvent> event_in(const trace::EventTypeSpec& type, SaidReader& reader) {
    trace::RaisedEvent event;
    event.type = type.id;
    const auto fixed = reader.take_bytes(fixed_bytes(type));
    event.fixed.assign(fixed.begin(), fixed.end());
    std::uint32_t seen = 0;
    while (reader.ok() && !reader.is_at_end()) {
        const auto head = reader.take<std::uint32_t>();
        const std::uint32_t field = head & 0xffU;
        const auto data = reader.take_bytes(head >> 8U);
        if (field >= type.fields.size() || (seen & 1U << field) != 0 ||
            (type.fields[field].type_code & 0x80U) == 0 ||
            data.size() % (std::size_t{1} << (type.fields[field].type_code & 3U)) != 0) {
            return {};
        }
        seen |= 1U << field;
        event.variable.push_back({static_cast<std::uint8_t>(field), {data.begin(), data.end()}});
    }
    if (!reader.ok()) {
        return {};
    }
    return event;
}

/// Whether it is what trace::Message::arguments says.
bool are_arguments(std::span<const std::byte> said) {
    SaidReader reader{said};
    std::vector<std::uint8_t> kinds(reader.take<std::uint8_t>());
    for (std::uint8_t& kind : kinds) {
        kind = reader.take<std::uint8_t>();
    }
    for (const std::uint8_t kind : kinds) {
        const unsigned bytes = kind & 0x3fU;
        if (kind >> 6U == 3) {
            reader.take_text();
        } else if (bytes == 8) {
            reader.take<std::uint64_t>();
        } else if (bytes == 4) {
            reader.take<std::uint32_t>();
        } else {
            return false;
        }
    }
    return reader.ok() && reader.is_at_end();
}

std::vector<trace::NamedValue> values_in(std::span<const std::byte> said) {
    std::vector<trace::NamedValue> values;
    for (SaidReader reader{said}; !reader.is_at_end();) {
        const auto kind = reader.take<NoteKind>();
        trace::NamedValue value{std::string{reader.take_text()}, std::int64_t{0}};
        if (kind == NoteKind::text) {
            value.value = std::string{reader.take_text()};
        } else if (kind == NoteKind::real) {
            value.value = reader.take<double>();
        } else {
            value.value = reader.take<std::int64_t>();
        }
        if (!reader.ok()) {
            break;
        }
        values.push_back(std::move(value));
    }
    return values;
}

}  // namespace

void LaneDecoder::take_announced(Unwritten unwritten) {
    definitions_.take_announced(
        unwritten,
        [this](std::uint32_t type, std::span<const std::byte> said) { take_kept(type, said); });
}

void LaneDecoder::decode(SpeakingThread& thread, std::span<const std::uint64_t> words) {
    while (!words.empty()) {
        const std::size_t size =
            capture::lane_record_bytes(words[0], words.size() > 1 ? words[1] : 0) / 8;
        if (size == 0 || size > words.size()) {
            ++dropped_;
            return;
        }
        const LaneRecord kind = capture::lane_record(words[0]);
        thread.last_ticks = kind == LaneRecord::near_zone_begin
                                ? capture::near_ticks(words[0], thread.last_ticks)
                                : words[0] & capture::kTickMask;
        const std::uint64_t time_ns = std::max(thread.last_ns, clock_.to_ns(thread.last_ticks));
        thread.last_ns = time_ns;
        const Moment moment{thread.id, time_ns, time_ns >= start_ns_};
        switch (kind) {
            case LaneRecord::near_zone_begin:
                begin_zone(thread, moment, capture::near_zone(words[0]), {});
                break;
            case LaneRecord::zone_begin:
                begin_zone(thread, moment, static_cast<std::uint32_t>(words[1]), {});
                break;
            case LaneRecord::zone_end:
                end_zone(thread, moment);
                break;
            case LaneRecord::scope_end:
                end_scope(thread, moment);
                break;
            case LaneRecord::counter:
                count(moment, static_cast<std::uint32_t>(words[1]), words[2]);
                break;
            case LaneRecord::memory_alloc:
            case LaneRecord::memory_free:
            case LaneRecord::memory_realloc_alloc:
            case LaneRecord::memory_realloc_free:
                take_memory(moment, words.first(size));
                break;
            default:
                take_other(thread, moment, words.first(size));
        }
        words = words.subspan(size);
    }
}

void LaneDecoder::begin_zone(SpeakingThread& thread, const Moment& moment, std::uint32_t number,
                             std::span<const std::byte> values) {
    if (thread.open.size() >= kMostOpen) {
        ++dropped_;
        return;
    }
    thread.open.push_back(moment.is_recorded);
    if (!moment.is_recorded) {
        return;
    }
    trace::ZoneEdge edge{thread.id, trace::EdgeKind::begin, moment.time_ns,
                         definitions_.zone_of(number)};
    if (!values.empty()) {
        edge.note = names_.next_note();
        sink_.instrumentation(trace::ZoneNote{edge.note, edge.zone, values_in(values)});
    }
    sink_.zone(edge);
}

void LaneDecoder::end_zone(SpeakingThread& thread, const Moment& moment) {
    if (thread.open.empty()) {
        ++dropped_;
        return;
    }
    if (thread.open.back()) {
        sink_.zone({thread.id, trace::EdgeKind::end, moment.time_ns, {}});
    }
    thread.open.pop_back();
}

void LaneDecoder::end(SpeakingThread& thread, std::uint64_t time_ns) {
    const Moment moment{thread.id, std::max(thread.last_ns, time_ns), true};
    while (!thread.open.empty()) {
        end_zone(thread, moment);
    }
    while (!thread.scopes.empty()) {
        end_scope(thread, moment);
    }
}

void LaneDecoder::count(const Moment& moment, std::uint32_t number, std::uint64_t value) {
    const auto found = definitions_.known(number);
    const bool is_real = found && found->kind == DefinitionKind::real_counter;
    if (!found || (!is_real && found->kind != DefinitionKind::integer_counter &&
                   found->kind != DefinitionKind::memory_counter)) {
        ++dropped_;
        return;
    }
    if (!moment.is_recorded) {
        return;
    }
    trace::CounterValue said{moment.thread, moment.time_ns, trace::CounterId{found->id},
                             static_cast<std::int64_t>(value)};
    if (is_real) {
        double real = 0;
        std::memcpy(&real, &value, sizeof real);
        said.value = real;
    }
    sink_.instrumentation(said);
}

void LaneDecoder::take_memory(const Moment& moment, std::span<const std::uint64_t> words) {
    if (!moment.is_recorded) {
        return;
    }
    trace::MemoryEvent event;
    event.thread = moment.thread;
    event.time_ns = moment.time_ns;
    event.address = words[1];
    const LaneRecord kind = capture::lane_record(words[0]);
    const bool is_given_out =
        kind == LaneRecord::memory_alloc || kind == LaneRecord::memory_realloc_alloc;
    const auto owner = std::bit_cast<capture::MemoryOwner>(words[is_given_out ? 3 : 2]);
    if (owner.heap != 0) {
        event.heap = trace::HeapId{definitions_.id_of(owner.heap, DefinitionKind::memory_heap)};
        if (event.heap.is_none()) {
            return;
        }
    }
    const bool is_realloc =
        kind == LaneRecord::memory_realloc_alloc || kind == LaneRecord::memory_realloc_free;
    if (is_given_out) {
        event.kind = is_realloc ? trace::MemoryKind::realloc_alloc : trace::MemoryKind::alloc;
        event.bytes = capture::memory_bytes(words[2]);
        event.alignment_log2 = capture::memory_alignment_log2(words[2]);
        if (owner.tag != 0) {
            event.tag =
                trace::MemoryTagId{definitions_.id_of(owner.tag, DefinitionKind::memory_tag)};
        }
        event.call_stack = call_stack(owner.call_stack, words[0] & capture::kTickMask);
    } else {
        event.kind = is_realloc ? trace::MemoryKind::realloc_free : trace::MemoryKind::free;
    }
    sink_.memory(event);
}

/// 0: there is none of this number.
std::uint32_t LaneDecoder::call_stack(std::uint32_t number, std::uint64_t ticks) {
    using capture::CallStackEntry;
    if (number == 0) {
        return 0;
    }
    const auto [at, is_new] = call_stacks_.try_emplace(number, 0);
    if (!is_new) {
        return at->second;
    }
    std::vector<std::uint64_t> frames;
    std::uint64_t root = 0;
    for (std::uint32_t next = number; next != 0;) {
        if (next >= capture::kCallStackEntries || frames.size() > capture::kMaxDepth) {
            ++dropped_;
            return 0;
        }
        const CallStackEntry& entry = store_.call_stacks[next];
        // Pairs with the release by which it was committed.
        const std::uint32_t state = entry.state.load(std::memory_order_acquire);
        if (state < CallStackEntry::kParent) {
            ++dropped_;
            return 0;
        }
        root = __atomic_load_n(&entry.frame, __ATOMIC_RELAXED);
        frames.push_back(root);
        next = state - CallStackEntry::kParent;
    }
    frames.pop_back();  // that is the root
    trace::CallStack told;
    for (const std::uint64_t bits : frames) {
        const auto frame = FrameAddress::from_bits(bits);
        if (!frame.is_elided() && told.frames.size() < trace::CallStack::kMostFrames) {
            told.frames.push_back(frame.lookup_pc().value);
        }
    }
    std::reverse(frames.begin(), frames.end());
    told.id = node_of_(frames, static_cast<std::uint32_t>(root), ticks).value;
    at->second = told.id;
    if (told.id != 0 && told_stacks_.insert(told.id).second) {
        sink_.instrumentation(told);
    }
    return told.id;
}

void LaneDecoder::take_other(SpeakingThread& thread, const Moment& moment,
                             std::span<const std::uint64_t> words) {
    const auto record = std::bit_cast<OtherRecord>(words[1]);
    const auto said = std::as_bytes(words.subspan(2)).first(record.said_bytes);
    SaidReader reader{said};
    switch (record.kind) {
        case OtherKind::noted_zone_begin:
            begin_zone(thread, moment, record.argument, said);
            return;
        case OtherKind::suspend:
        case OtherKind::resume:
            move_coroutine(thread, moment, record, said);
            return;
        case OtherKind::event:
            take_event(thread, moment, record, said);
            return;
        case OtherKind::thread_name:
            thread.new_name = std::string{reader.take_text()};
            return;
        default:
            break;
    }
    if (!moment.is_recorded) {
        return;
    }
    switch (record.kind) {
        case OtherKind::frame_begin:
        case OtherKind::frame_end:
            sink_.instrumentation(trace::FrameEdge{moment.thread, moment.time_ns,
                                                   static_cast<std::uint8_t>(record.argument),
                                                   record.kind == OtherKind::frame_begin});
            break;
        case OtherKind::region_begin:
        case OtherKind::region_end:
            take_region(moment, record, said);
            break;
        case OtherKind::message:
            take_message(moment, record.argument, said);
            break;
        case OtherKind::thread_group:
            sink_.instrumentation(
                trace::ThreadGroup{moment.thread, std::string{reader.take_text()}});
            break;
        case OtherKind::flow:
            sink_.instrumentation(trace::Flow{
                moment.thread, moment.time_ns, reader.take<std::uint64_t>(),
                static_cast<trace::FlowStep>(std::min<std::uint32_t>(
                    record.argument, static_cast<std::uint32_t>(trace::FlowStep::end)))});
            break;
        case OtherKind::channel_toggle:
            if (const auto id = definitions_.id_of(record.argument & ~capture::kToggledOn,
                                                   DefinitionKind::channel);
                id != 0) {
                sink_.instrumentation(trace::ChannelToggle{
                    trace::ChannelId{id}, (record.argument & capture::kToggledOn) != 0});
            }
            break;
        default:
            ++dropped_;
    }
}

void LaneDecoder::take_region(const Moment& moment, const OtherRecord& record,
                              std::span<const std::byte> said) {
    // Another process may count from 1, too.
    constexpr unsigned kNumberBits = 40;
    const auto number = SaidReader{said}.take<std::uint64_t>();
    const std::uint64_t region = std::uint64_t{process_.value} << kNumberBits |
                                 (number & ((std::uint64_t{1} << kNumberBits) - 1));
    if (record.kind == OtherKind::region_end) {
        sink_.instrumentation(trace::RegionEnd{moment.thread, moment.time_ns, region, {}});
    } else if (const auto id = definitions_.id_of(record.argument, DefinitionKind::region);
               id != 0) {
        sink_.instrumentation(trace::RegionBegin{moment.thread, moment.time_ns, region,
                                                 definitions_.region(id).name,
                                                 definitions_.region(id).category});
    }
}

void LaneDecoder::take_message(const Moment& moment, std::uint32_t number,
                               std::span<const std::byte> said) {
    const auto found = definitions_.known(number);
    if (!found || (found->kind != DefinitionKind::bookmark && found->kind != DefinitionKind::log) ||
        !are_arguments(said)) {
        ++dropped_;
        return;
    }
    sink_.instrumentation(trace::Message{
        moment.thread, moment.time_ns, trace::MessageId{found->id}, {said.begin(), said.end()}});
}

void LaneDecoder::take_event(SpeakingThread& thread, const Moment& moment,
                             const OtherRecord& record, std::span<const std::byte> said) {
    const bool opens = record.scope != capture::ScopeBegin::none;
    const bool is_timed = record.scope == capture::ScopeBegin::timed;
    if (opens && thread.scopes.size() >= kMostOpen) {
        ++dropped_;
        return;
    }
    std::optional<trace::RaisedEvent> event;
    SaidReader reader{said};
    const auto serial = reader.take<std::uint64_t>();
    if (const auto id = definitions_.id_of(record.argument, DefinitionKind::event_type); id != 0) {
        const trace::EventTypeSpec& type = definitions_.event_type(id);
        if ((type.flags & SAMPLE_TRACE_IMPORTANT) == 0) {
            event = event_in(type, reader);
        }
        dropped_ += event ? 0 : 1;
    }
    const bool is_recorded = event && moment.is_recorded;
    if (opens) {
        thread.scopes.push_back(
            {is_recorded, is_timed, event ? event->type : trace::EventTypeId{}});
    }
    if (!is_recorded) {
        return;
    }
    event->thread = moment.thread;
    event->serial = serial;
    event->scope = opens ? trace::ScopeKind::enter : trace::ScopeKind::none;
    event->time_ns = opens && !is_timed ? 0 : moment.time_ns;
    sink_.instrumentation(*event);
}

void LaneDecoder::end_scope(SpeakingThread& thread, const Moment& moment) {
    if (thread.scopes.empty()) {
        ++dropped_;
        return;
    }
    const SpeakingThread::Scope scope = thread.scopes.back();
    thread.scopes.pop_back();
    if (scope.is_recorded) {
        trace::RaisedEvent event;
        event.thread = moment.thread;
        event.time_ns = scope.is_timed ? moment.time_ns : 0;
        event.type = scope.type;
        event.scope = trace::ScopeKind::leave;
        sink_.instrumentation(event);
    }
}

void LaneDecoder::take_kept(std::uint32_t type_number, std::span<const std::byte> said) {
    const auto id = definitions_.id_of(type_number, DefinitionKind::event_type);
    if (id == 0) {
        return;
    }
    kept_bytes_ += said.size();
    SaidReader reader{said};
    const trace::EventTypeSpec& type = definitions_.event_type(id);
    const bool is_one = (type.flags & SAMPLE_TRACE_IMPORTANT) != 0 && kept_bytes_ <= kMostKeptBytes;
    const auto event = is_one ? event_in(type, reader) : std::optional<trace::RaisedEvent>{};
    if (!event) {
        ++dropped_;
        return;
    }
    sink_.instrumentation(*event);
}

void LaneDecoder::move_coroutine(SpeakingThread& thread, const Moment& moment,
                                 const OtherRecord& record, std::span<const std::byte> said) {
    const bool is_suspended = record.kind == OtherKind::suspend;
    const auto depth = SaidReader{said}.take<std::uint32_t>();
    const std::size_t most =
        is_suspended ? thread.open.size() : kMostOpen - std::min(kMostOpen, thread.open.size());
    if (depth == 0 || depth > most) {
        ++dropped_;
        return;
    }
    std::uint32_t recorded = moment.is_recorded ? depth : 0;
    if (is_suspended) {
        recorded = static_cast<std::uint32_t>(
            std::count(thread.open.end() - depth, thread.open.end(), true));
        thread.open.resize(thread.open.size() - depth);
    } else {
        thread.open.insert(thread.open.end(), depth, moment.is_recorded);
    }
    if (recorded != 0) {
        sink_.zone({thread.id,
                    is_suspended ? trace::EdgeKind::suspend : trace::EdgeKind::resume,
                    moment.time_ns,
                    definitions_.zone_of(record.argument),
                    {},
                    recorded});
    }
}

}  // namespace sample::collector

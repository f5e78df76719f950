#include "trace/event_reader.h"

#include "trace/aux_blocks.h"
#include "trace/wire.h"

#include <algorithm>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::size_t kMaxEventBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxUnfinishedBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDeclared = std::size_t{1} << 16;
constexpr std::size_t kMaxOpenScopes = std::size_t{1} << 16;

constexpr std::size_t kRecordHeaderBytes = 4;

// Well-known events of thread streams: scopes entered (even) and left (odd), without a time, with
// one of the stream's clock, and with one relative to the thread's base.
constexpr std::uint8_t kFirstScopeUid = 4;
constexpr std::uint8_t kFirstTimedScopeUid = 6;
constexpr std::uint8_t kFirstRelativeScopeUid = 8;
constexpr std::uint8_t kLastScopeUid = 9;
constexpr std::size_t kTimedScopeBytes = 8;

constexpr const char* kDamagedField = "a field of variable size is damaged";

}  // namespace

void EventReader::subscribe(std::string_view name, Handler handler) {
    handlers_.insert_or_assign(std::string{name}, std::move(handler));
}

bool EventReader::is_declared(std::string_view name) const {
    return std::any_of(declared_.begin(), declared_.end(),
                       [name](const Declared& declared) { return declared.type.name == name; });
}

std::vector<TypeUse> EventReader::types() const {
    std::map<std::string_view, TypeUse> by_name;  // A type may be declared again.
    for (const Declared& declared : declared_) {
        TypeUse& use = by_name[declared.type.name];
        use.type = &declared.type;
        use.events += declared.events;
        use.bytes += declared.bytes;
    }
    std::vector<TypeUse> uses;
    uses.reserve(by_name.size());
    for (const auto& [name, use] : by_name) {
        uses.push_back(use);
    }
    return uses;
}

EventReader::Step EventReader::damaged(std::string problem) {
    is_damaged_ = true;
    outcome_.problem = std::move(problem);
    return Step::broken_off;
}

void EventReader::skip(std::string_view what, std::uint64_t count) {
    const auto found = skipped_.find(what);
    if (found != skipped_.end()) {
        found->second += count;
    } else {
        skipped_.emplace(what, count);
    }
}

Result<StreamOutcome> EventReader::run(std::span<const std::byte> file, const Passed& passed) {
    if (file.empty()) {
        return unexpected(ErrorCode::truncated,
                          "the file is empty: nothing was recorded into it; record again");
    }
    constexpr std::size_t kAtOnce = std::size_t{4} << 20;
    std::span<const std::byte> left = file;
    while (!left.empty() && !is_over()) {
        std::span<const std::byte> bytes = left.first(std::min(left.size(), kAtOnce));
        const std::size_t before = bytes.size();
        SAMPLE_CHECK(take(bytes));
        const std::size_t used = before - bytes.size();
        if (used == 0) {
            // No more than a packet, unless it is damaged.
            rest_.assign(bytes.begin(), bytes.end());
            break;
        }
        if (passed) {
            passed(left.first(used));
        }
        left = left.subspan(used);
    }
    return finish();
}

Result<void> EventReader::take(std::span<const std::byte>& bytes) {
    if (!has_header_) {
        const std::size_t before = bytes.size();
        SAMPLE_TRY(is_whole, PacketReader::take_header(bytes, header_));
        has_header_ = is_whole;
        position_ += before - bytes.size();
    }
    if (has_header_) {
        take_packets(bytes);
    }
    return {};
}

Result<bool> EventReader::feed(std::span<const std::byte> bytes) {
    const bool is_joined = !rest_.empty();
    if (is_joined) {
        wire::append(rest_, bytes);
        bytes = rest_;
    }
    SAMPLE_CHECK(take(bytes));
    if (is_over()) {
        rest_.clear();
    } else if (is_joined) {
        rest_.erase(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(bytes.size()));
    } else {
        rest_.assign(bytes.begin(), bytes.end());
    }
    return !is_over();
}

void EventReader::take_packets(std::span<const std::byte>& bytes) {
    while (!is_over()) {
        const std::size_t before = bytes.size();
        Packet packet;
        const PacketStatus status = packets_.next(bytes, packet);
        if (status == PacketStatus::damaged) {
            damaged("a packet is damaged");
        } else if (status == PacketStatus::verified) {
            damaged("its packets have verification numbers, which sample does not read");
        }
        if (status != PacketStatus::packet) {
            return;
        }
        position_ += before - bytes.size();
        if (take_packet(packet)) {
            outcome_.bytes_used = position_;
        }
    }
}

void EventReader::settle() {
    while (order_.is_waiting() && !is_stopped_) {
        give_up_waiting();
    }
}

StreamOutcome EventReader::finish() {
    if (!is_over() && (!has_header_ || !rest_.empty())) {
        outcome_.problem = "the file ends in the middle of a packet";
    } else if (!is_over() && unfinished_bytes_ != 0) {
        outcome_.problem = "the file ends in the middle of an event";
    }
    settle();
    for (const Declared& declared : declared_) {
        if (declared.handler == nullptr && declared.events != 0) {
            skip(declared.type.name, declared.events);
        }
    }
    if (outcome_.lost_serials != 0) {
        skip("(events in order that never came)", outcome_.lost_serials);
    }
    for (const auto& [what, count] : skipped_) {
        outcome_.skipped.push_back(Skipped{what, count});
    }
    return std::move(outcome_);
}

bool EventReader::take_packet(const Packet& packet) {
    if (packet.tid == wire::kSyncStream) {
        on_sync();
        return !is_over();
    }
    Stream& stream = streams_[packet.tid];
    std::span<const std::byte> bytes = packet.payload;
    std::vector<std::byte> joined;
    if (!stream.bytes.empty()) {
        unfinished_bytes_ -= stream.bytes.size();
        joined = std::move(stream.bytes);
        wire::append(joined, packet.payload);
        bytes = joined;
    }
    if (take_events(packet.tid, stream, bytes) == Step::broken_off) {
        return packet.tid == wire::kThreadListStream && forgive();
    }
    if (bytes.size() == joined.size()) {
        stream.bytes = std::move(joined);  // Not copied again for each packet of a long event.
    } else {
        stream.bytes.assign(bytes.begin(), bytes.end());
    }
    unfinished_bytes_ += stream.bytes.size();
    if (stream.bytes.size() > kMaxEventBytes) {
        damaged("an event is larger than 1 MiB");
    } else if (unfinished_bytes_ > kMaxUnfinishedBytes) {
        damaged("more than 64 MiB of unfinished events");
    }
    return !is_over();
}

/// The threads' names are told in stream 1, too: what does not parse here is worth no file.
bool EventReader::forgive() {
    if (is_stopped_) {
        return false;
    }
    is_damaged_ = false;
    outcome_.problem.clear();
    skip("(lists of threads that do not parse)");
    return true;
}

/// Takes whole events off the front of `bytes`.
EventReader::Step EventReader::take_events(std::uint16_t tid, Stream& stream,
                                           std::span<const std::byte>& bytes) {
    while (!bytes.empty()) {
        const Step step = tid < wire::kFirstThreadStream
                              ? take_record(tid == wire::kSchemaStream, bytes)
                              : take_thread_event(tid, stream, bytes);
        if (step != Step::done) {
            return step;
        }
        stream.scanned = 0;
    }
    return Step::done;
}

EventReader::Step EventReader::take_record(bool is_schema, std::span<const std::byte>& bytes) {
    if (bytes.size() < kRecordHeaderBytes) {
        return Step::needs_more;
    }
    const auto uid = wire::load<std::uint16_t>(bytes.data());
    const std::size_t size = wire::load<std::uint16_t>(bytes.data() + 2);
    if (bytes.size() - kRecordHeaderBytes < size) {
        return Step::needs_more;
    }
    const std::span<const std::byte> payload = bytes.subspan(kRecordHeaderBytes, size);
    bytes = bytes.subspan(kRecordHeaderBytes + size);
    if (uid == wire::kNewEventUid) {
        return declare(payload);
    }
    return is_schema ? Step::done : important(uid, payload);
}

EventReader::Step EventReader::declare(std::span<const std::byte> payload) {
    auto type = parse_declaration(payload, header_.protocol);
    if (!type) {
        return damaged("the declaration of an event type is damaged");
    }
    declared_fields_ += 1 + type->fields.size();
    if (declared_fields_ > kMaxDeclared) {
        return damaged("too many event types are declared");
    }
    Declared& declared = declared_.emplace_back();
    declared.type = *std::move(type);
    if (const auto handler = handlers_.find(declared.type.name); handler != handlers_.end()) {
        declared.handler = &handler->second;
    } else if (others_) {
        declared.handler = &others_;
    }
    declared.has_facts = StreamFacts::are_in(declared.type.name);
    types_[declared.type.uid] = &declared;
    return Step::done;
}

EventReader::Step EventReader::important(std::uint16_t uid, std::span<const std::byte> payload) {
    const auto found = types_.find(uid);
    if (found == types_.end()) {
        ++outcome_.unknown_events;  // Its size is known: it can be skipped.
        skip("(events of types that are not declared)");
        return Step::done;
    }
    Declared& declared = *found->second;
    const std::size_t fixed_bytes = declared.type.fixed_bytes;
    if (payload.size() < fixed_bytes) {
        return damaged("an event is shorter than its type");
    }
    aux_.clear();
    if (!declared.type.has_variable_fields()) {
        aux_.push_back(AuxBlock{declared.type.fields.size(), payload.subspan(fixed_bytes)});
    } else if (!read_aux(payload, fixed_bytes, aux_)) {
        return damaged(kDamagedField);
    }
    ++declared.events;
    declared.bytes += kRecordHeaderBytes + payload.size();
    return dispatch(declared, wire::kImportantStream, payload.first(fixed_bytes), {});
}

EventReader::Step EventReader::take_thread_event(std::uint16_t tid, Stream& stream,
                                                 std::span<const std::byte>& bytes) {
    if ((std::to_integer<std::uint8_t>(bytes.front()) & 1) == 0) {
        return take_scope(tid, stream, bytes);
    }
    stream.zero_may_follow = false;
    if (bytes.size() < 2) {
        return Step::needs_more;
    }
    const auto uid = static_cast<std::uint16_t>(wire::load<std::uint16_t>(bytes.data()) >> 1);
    const auto found = types_.find(uid);
    if (found == types_.end()) {
        return damaged("an event of a type that was not declared");
    }
    Declared& declared = *found->second;
    const EventType& type = declared.type;
    const bool has_serial = (type.flags & wire::kNoSync) == 0;
    const std::size_t fixed_at = 2 + (has_serial ? wire::kSerialBytes : 0);
    const std::size_t fixed_end = fixed_at + type.fixed_bytes;
    if (bytes.size() < fixed_end) {
        return Step::needs_more;
    }
    std::size_t end = fixed_end;
    aux_.clear();
    if ((type.flags & wire::kMaybeHasAux) != 0) {
        // First where it ends, from where an earlier search gave up; so the time is linear in the
        // event's size, however many packets it comes in.
        end = stream.scanned != 0 ? stream.scanned : fixed_end;
        if (const AuxEnd found_end = find_aux_end(bytes, end, nullptr);
            found_end != AuxEnd::found) {
            stream.scanned = end;
            return found_end == AuxEnd::damaged ? damaged(kDamagedField) : Step::needs_more;
        }
        std::size_t at = fixed_end;
        (void)find_aux_end(bytes, at, &aux_);
    }
    ++declared.events;
    declared.bytes += end;
    const std::span<const std::byte> fixed = bytes.subspan(fixed_at, type.fixed_bytes);
    std::optional<std::uint32_t> serial;
    if (has_serial) {
        serial = wire::load<std::uint16_t>(bytes.data() + 2) |
                 std::to_integer<std::uint32_t>(bytes[4]) << 16;
    }
    bytes = bytes.subspan(end);
    return in_order(declared, tid, stream, fixed, serial);
}

/// Writers differ in how many bytes a scope's time has: 7, or 8 where it is absolute. The eighth is
/// 0 then, and no event begins with a 0.
EventReader::Step EventReader::take_scope(std::uint16_t tid, Stream& stream,
                                          std::span<const std::byte>& bytes) {
    const unsigned uid = std::to_integer<unsigned>(bytes.front()) >> 1;
    if (std::exchange(stream.zero_may_follow, false) && bytes.front() == std::byte{0}) {
        bytes = bytes.subspan(1);
        return Step::done;
    }
    if (uid < kFirstScopeUid || uid > kLastScopeUid) {
        return damaged("an event of an unknown kind");
    }
    const bool has_time = uid >= kFirstTimedScopeUid;
    const std::size_t size = has_time ? kTimedScopeBytes : 1;
    if (bytes.size() < size) {
        return Step::needs_more;
    }
    std::optional<std::uint64_t> cycle;
    if (has_time) {
        cycle = wire::load<std::uint64_t>(bytes.data()) >> 8;
        if (uid >= kFirstRelativeScopeUid) {
            *cycle += facts_.base_cycle(tid);
        }
        stream.zero_may_follow = uid < kFirstRelativeScopeUid;
    }
    bytes = bytes.subspan(size);
    if (uid % 2 == 0) {
        if (std::exchange(stream.is_entering, true)) {
            skip("(scopes that begin without an event)");
        }
        stream.cycle = cycle;
        return Step::done;
    }
    return end_scope(tid, stream, cycle);
}

EventReader::Step EventReader::end_scope(std::uint16_t tid, Stream& stream,
                                         std::optional<std::uint64_t> cycle) {
    if (std::exchange(stream.is_entering, false)) {
        skip("(scopes that begin without an event)");
        return Step::done;
    }
    if (stream.scopes.empty()) {
        skip("(scopes that end without a begin)");
        return Step::done;
    }
    const OpenScope scope = stream.scopes.back();
    stream.scopes.pop_back();
    --open_scopes_;
    if (scope.kept_as) {
        KeptEvent* kept = order_.find(stream.last_kept);
        if (kept == nullptr) {
            kept = order_.find(*scope.kept_as);
        }
        if (kept != nullptr) {
            kept->leaves.push_back({scope.declared, cycle});
            return Step::done;
        }
    }
    aux_.clear();
    return dispatch(*scope.declared, tid, {}, {EventStyle::leave, cycle, std::nullopt});
}

EventReader::Step EventReader::in_order(Declared& declared, std::uint16_t tid, Stream& stream,
                                        std::span<const std::byte> fixed,
                                        std::optional<std::uint32_t> serial) {
    Occurrence occurrence{EventStyle::plain, std::nullopt, serial};
    if (stream.is_entering) {
        if (++open_scopes_ > kMaxOpenScopes) {
            return damaged("more than 64 Ki scopes are open");
        }
        stream.is_entering = false;
        stream.scopes.push_back({&declared, std::nullopt});
        occurrence.style = EventStyle::enter;
        occurrence.cycle = stream.cycle;
    }
    if (!serial) {
        return dispatch(declared, tid, fixed, occurrence);
    }
    const SerialOrder::Place place = order_.place(*serial);
    if (place.turn == SerialOrder::Turn::now) {
        order_.pass(place.number);
        const Step step = dispatch(declared, tid, fixed, occurrence);
        return step == Step::done && order_.is_waiting() ? hand_out_kept() : step;
    }
    if (place.turn == SerialOrder::Turn::late) {
        skip("(events that came too late for their order)");
        return dispatch(declared, tid, fixed, occurrence);
    }
    KeptEvent event{&declared, tid, occurrence, 0, {}, {}, {}};
    if (declared.handler != nullptr || declared.has_facts) {
        event.fixed_bytes = fixed.size();
        event.bytes.assign(fixed.begin(), fixed.end());
        for (const AuxBlock& block : aux_) {
            wire::append(event.bytes, block.data);
            event.pieces.push_back({block.field, block.data.size()});
        }
    }
    order_.keep(place.number, std::move(event));
    stream.last_kept = place.number;
    if (occurrence.style == EventStyle::enter) {
        stream.scopes.back().kept_as = place.number;
    }
    while (order_.is_full()) {
        if (give_up_waiting() != Step::done) {
            return Step::broken_off;
        }
    }
    return Step::done;
}

void EventReader::on_sync() {
    if (order_.is_waiting() && ++syncs_waited_ >= kSyncsWaited) {
        give_up_waiting();
    }
}

EventReader::Step EventReader::give_up_waiting() {
    outcome_.lost_serials += order_.give_up();
    return hand_out_kept();
}

EventReader::Step EventReader::hand_out_kept() {
    while (auto event = order_.take_next()) {
        syncs_waited_ = 0;
        if (hand_out(*event) != Step::done) {
            return Step::broken_off;
        }
    }
    return Step::done;
}

EventReader::Step EventReader::hand_out(const KeptEvent& event) {
    const std::span<const std::byte> bytes = event.bytes;
    std::size_t at = event.fixed_bytes;
    aux_.clear();
    for (const KeptEvent::Piece& piece : event.pieces) {
        aux_.push_back(AuxBlock{piece.field, bytes.subspan(at, piece.size)});
        at += piece.size;
    }
    Step step = dispatch(*static_cast<Declared*>(event.owner), event.stream,
                         bytes.first(event.fixed_bytes), event.occurrence);
    aux_.clear();
    for (const KeptEvent::Leave& leave : event.leaves) {
        if (step == Step::done) {
            step = dispatch(*static_cast<Declared*>(leave.owner), event.stream, {},
                            {EventStyle::leave, leave.cycle, std::nullopt});
        }
    }
    return step;
}

EventReader::Step EventReader::dispatch(Declared& declared, std::uint16_t tid,
                                        std::span<const std::byte> fixed,
                                        const Occurrence& occurrence) {
    const bool is_leave = occurrence.style == EventStyle::leave;
    if (declared.handler == nullptr && !is_leave) {
        ++outcome_.unknown_events;
    }
    if (declared.handler == nullptr && !declared.has_facts) {
        return Step::done;
    }
    const EventView event{declared.type, tid, fixed, aux_, scratch_, occurrence};
    if (declared.has_facts && !is_leave) {
        facts_.learn(event);
    }
    if (declared.handler != nullptr) {
        if (auto problem = (*declared.handler)(event)) {
            is_stopped_ = true;
            return damaged(*std::move(problem));
        }
    }
    return is_stopped_ ? Step::broken_off : Step::done;
}

}  // namespace sample::trace

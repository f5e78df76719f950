#include "trace/event_reader.h"

#include "trace/wire.h"

#include <algorithm>

namespace sample::trace {
namespace {

constexpr std::size_t kMaxEventBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxUnfinishedBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDeclared = std::size_t{1} << 16;

constexpr std::size_t kRecordHeaderBytes = 4;
constexpr std::size_t kAuxHeaderBytes = 4;
constexpr std::size_t kSerialBytes = 3;

// Well-known events of thread streams: scopes entered and left, without and with a time.
constexpr std::uint8_t kFirstScopeUid = 4;
constexpr std::uint8_t kFirstTimedScopeUid = 6;
constexpr std::uint8_t kLastScopeUid = 9;
constexpr std::size_t kTimedScopeBytes = 8;

struct AuxHeader {
    std::size_t field;
    std::size_t size;
};

AuxHeader load_aux_header(const std::byte* at) {
    const auto pack = wire::load<std::uint32_t>(at);
    return AuxHeader{(pack >> 8) & 0x1fU, pack >> 13};
}

}  // namespace

void EventReader::subscribe(std::string_view name, Handler handler) {
    handlers_.insert_or_assign(std::string{name}, std::move(handler));
}

bool EventReader::is_declared(std::string_view name) const {
    return std::any_of(types_.begin(), types_.end(),
                       [name](const auto& declared) { return declared.second.type.name == name; });
}

EventReader::Step EventReader::damaged(std::string problem) {
    outcome_.problem = std::move(problem);
    return Step::damaged;
}

Result<StreamOutcome> EventReader::run(std::span<const std::byte> file) {
    auto packets = PacketReader::open(file);
    if (!packets) {
        return unexpected(packets.error());
    }
    outcome_ = StreamOutcome{};
    for (;;) {
        Packet packet;
        const PacketStatus status = packets->next(packet);
        if (status == PacketStatus::packet && take_packet(packet)) {
            outcome_.bytes_used = packets->bytes_used();
            continue;
        }
        if (status == PacketStatus::cut_off) {
            outcome_.problem = "the file ends in the middle of a packet";
        } else if (status == PacketStatus::damaged) {
            outcome_.problem = "a packet is damaged";
        } else if (status == PacketStatus::end && unfinished_bytes_ != 0) {
            outcome_.problem = "the file ends in the middle of an event";
        }
        return outcome_;
    }
}

bool EventReader::take_packet(const Packet& packet) {
    if (packet.tid > wire::kLastThreadStream || packet.payload.empty()) {
        return true;
    }
    const auto found = unfinished_.find(packet.tid);
    if (found == unfinished_.end()) {
        std::span<const std::byte> bytes = packet.payload;
        std::size_t scanned = 0;
        if (take_events(packet.tid, bytes, scanned) == Step::damaged) {
            return false;
        }
        if (!bytes.empty()) {
            unfinished_.emplace(packet.tid, Unfinished{{bytes.begin(), bytes.end()}, scanned});
            unfinished_bytes_ += bytes.size();
        }
    } else {
        Unfinished& unfinished = found->second;
        unfinished_bytes_ -= unfinished.bytes.size();
        wire::append(unfinished.bytes, packet.payload);
        std::span<const std::byte> bytes = unfinished.bytes;
        if (take_events(packet.tid, bytes, unfinished.scanned) == Step::damaged) {
            return false;
        }
        if (bytes.empty()) {
            unfinished_.erase(found);
        } else {
            const auto taken = static_cast<std::ptrdiff_t>(unfinished.bytes.size() - bytes.size());
            unfinished.bytes.erase(unfinished.bytes.begin(), unfinished.bytes.begin() + taken);
            unfinished_bytes_ += unfinished.bytes.size();
            if (unfinished.bytes.size() > kMaxEventBytes) {
                damaged("an event is larger than 1 MiB");
                return false;
            }
        }
    }
    if (unfinished_bytes_ > kMaxUnfinishedBytes) {
        damaged("more than 64 MiB of unfinished events");
        return false;
    }
    return true;
}

/// Takes whole events off the front of `bytes`. `scanned` belongs to the first event only.
EventReader::Step EventReader::take_events(std::uint16_t tid, std::span<const std::byte>& bytes,
                                           std::size_t& scanned) {
    while (!bytes.empty()) {
        const Step step = tid < wire::kFirstThreadStream
                              ? take_record(tid == wire::kSchemaStream, bytes)
                              : take_thread_event(bytes, scanned);
        if (step != Step::done) {
            return step;
        }
        scanned = 0;
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
    auto type = parse_declaration(payload);
    if (!type) {
        return damaged("the declaration of an event type is damaged");
    }
    declared_fields_ += 1 + type->fields.size();
    if (declared_fields_ > kMaxDeclared) {
        return damaged("too many event types are declared");
    }
    const auto handler = handlers_.find(type->name);
    const std::uint16_t uid = type->uid;
    types_[uid] =
        Declared{*std::move(type), handler == handlers_.end() ? nullptr : &handler->second};
    return Step::done;
}

EventReader::Step EventReader::important(std::uint16_t uid, std::span<const std::byte> payload) {
    const auto declared = types_.find(uid);
    if (declared == types_.end()) {
        ++outcome_.unknown_events;  // Its size is known: it can be skipped.
        return Step::done;
    }
    const std::size_t fixed_bytes = declared->second.type.fixed_bytes;
    if (payload.size() < fixed_bytes) {
        return damaged("an event is shorter than its type");
    }
    aux_.clear();
    std::size_t at = fixed_bytes;
    while (at < payload.size()) {
        const auto aux_uid = std::to_integer<std::uint16_t>(payload[at]);
        if (aux_uid == wire::kAuxEndUid) {
            ++at;
            continue;
        }
        if (aux_uid != wire::kAuxUid || payload.size() - at < kAuxHeaderBytes) {
            return damaged("a field of variable size is damaged");
        }
        const AuxHeader header = load_aux_header(payload.data() + at);
        at += kAuxHeaderBytes;
        if (payload.size() - at < header.size) {
            return damaged("a field of variable size is damaged");
        }
        aux_.push_back(AuxBlock{header.field, payload.subspan(at, header.size)});
        at += header.size;
    }
    return dispatch(declared->second, payload.first(fixed_bytes));
}

/// Moves `at`, the begin of an aux block, behind the event's last one.
EventReader::Step EventReader::find_aux_end(std::span<const std::byte> bytes, std::size_t& at,
                                            bool collect) {
    while (at < bytes.size()) {
        const auto uid = std::to_integer<std::uint8_t>(bytes[at]);
        if (uid == wire::kAuxEndUid << 1) {
            ++at;
            return Step::done;
        }
        if (uid != wire::kAuxUid << 1) {
            return damaged("a field of variable size is damaged");
        }
        if (bytes.size() - at < kAuxHeaderBytes) {
            return Step::needs_more;
        }
        const AuxHeader header = load_aux_header(bytes.data() + at);
        if (bytes.size() - at - kAuxHeaderBytes < header.size) {
            return Step::needs_more;
        }
        if (collect) {
            aux_.push_back(
                AuxBlock{header.field, bytes.subspan(at + kAuxHeaderBytes, header.size)});
        }
        at += kAuxHeaderBytes + header.size;
    }
    return Step::needs_more;
}

EventReader::Step EventReader::take_thread_event(std::span<const std::byte>& bytes,
                                                 std::size_t& scanned) {
    const auto first = std::to_integer<std::uint8_t>(bytes.front());
    if ((first & 1) == 0) {
        const unsigned uid = first >> 1;
        if (uid < kFirstScopeUid || uid > kLastScopeUid) {
            return damaged("an event of an unknown kind");
        }
        const std::size_t size = uid >= kFirstTimedScopeUid ? kTimedScopeBytes : 1;
        if (bytes.size() < size) {
            return Step::needs_more;
        }
        ++outcome_.unknown_events;
        bytes = bytes.subspan(size);
        return Step::done;
    }
    if (bytes.size() < 2) {
        return Step::needs_more;
    }
    const auto uid = static_cast<std::uint16_t>(wire::load<std::uint16_t>(bytes.data()) >> 1);
    const auto found = types_.find(uid);
    if (found == types_.end()) {
        return damaged("an event of a type that was not declared");
    }
    const EventType& type = found->second.type;
    const std::size_t fixed_at = 2 + ((type.flags & wire::kNoSync) != 0 ? 0 : kSerialBytes);
    const std::size_t fixed_end = fixed_at + type.fixed_bytes;
    if (bytes.size() < fixed_end) {
        return Step::needs_more;
    }
    std::size_t end = fixed_end;
    aux_.clear();
    if ((type.flags & wire::kMaybeHasAux) != 0) {
        // First where it ends, from where an earlier search gave up; so the time is linear in the
        // event's size, however many packets it comes in.
        end = scanned != 0 ? scanned : fixed_end;
        if (const Step step = find_aux_end(bytes, end, false); step != Step::done) {
            scanned = end;
            return step;
        }
        std::size_t at = fixed_end;
        find_aux_end(bytes, at, true);
    }
    const std::span<const std::byte> fixed = bytes.subspan(fixed_at, type.fixed_bytes);
    bytes = bytes.subspan(end);
    return dispatch(found->second, fixed);
}

EventReader::Step EventReader::dispatch(const Declared& declared,
                                        std::span<const std::byte> fixed) {
    if (declared.handler == nullptr) {
        ++outcome_.unknown_events;
        return Step::done;
    }
    const EventView event{declared.type, fixed, aux_, scratch_};
    if (auto problem = (*declared.handler)(event)) {
        return damaged(*std::move(problem));
    }
    return Step::done;
}

}  // namespace sample::trace

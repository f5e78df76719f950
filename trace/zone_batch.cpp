#include "trace/zone_batch.h"

#include "core/varint.h"

#include <algorithm>
#include <array>

namespace sample::trace {
namespace {

constexpr unsigned kKindBits = 2;
constexpr std::uint64_t kMostNs = (std::uint64_t{1} << (64 - kKindBits)) - 1;

// As V3 numbers them.
enum class Opcode : std::uint8_t { end, begin, suspend, resume };

constexpr Opcode opcode(EdgeKind kind) noexcept {
    switch (kind) {
        case EdgeKind::begin:
            return Opcode::begin;
        case EdgeKind::end:
            return Opcode::end;
        case EdgeKind::suspend:
            return Opcode::suspend;
        case EdgeKind::resume:
            break;
    }
    return Opcode::resume;
}

}  // namespace

void ZoneBatchEncoder::add(const ZoneEdge& edge) {
    const std::uint64_t time = std::max(std::min(edge.time_ns, kMostNs), last_ns_);
    const std::uint64_t delta = time - last_ns_;
    const std::uint64_t stamp = delta < last_ns_ ? delta : time;
    last_ns_ = time;
    std::array<std::byte, kMostAnEdge> bytes;
    std::byte* out = bytes.data();
    const auto put = [&out](std::uint64_t value) { out += write_varint(out, value); };
    const Opcode code = opcode(edge.kind);
    put(stamp << kKindBits | static_cast<std::uint64_t>(code));
    if (code == Opcode::begin) {
        put(edge.note.is_none() ? std::uint64_t{edge.zone.value} << 1
                                : std::uint64_t{edge.note.value} << 1 | 1);
    } else if (code == Opcode::resume) {
        put(edge.zone.value);
    }
    if (code == Opcode::suspend || code == Opcode::resume) {
        put(edge.depth);
    }
    data_.insert(data_.end(), bytes.data(), out);
}

bool ZoneBatchDecoder::long_varint(std::uint64_t& value) noexcept {
    const std::size_t size = read_varint(at_, end_, value);
    at_ += size;
    is_damaged_ = size == 0;
    return size != 0;
}

std::uint64_t ZoneBatchDecoder::count_begins() noexcept {
    const unsigned kinds = version_ == ZoneBatchVersion::v1 ? 1 : (1U << kKindBits) - 1;
    std::uint64_t begins = 0;
    std::uint64_t value = 0;
    while (at_ != end_ && varint(value)) {
        const EdgeKind kind = kKinds[value & kinds];
        if ((has_id(kind) && !varint(value)) || (has_depth(kind) && !varint(value))) {
            break;
        }
        begins += kind == EdgeKind::begin ? 1 : 0;
    }
    return begins;
}

}  // namespace sample::trace

#include "trace/aux_blocks.h"

#include "trace/wire.h"

#include <cstdint>

namespace sample::trace {
namespace {

constexpr std::size_t kAuxHeaderBytes = 4;

struct AuxHeader {
    std::size_t field;
    std::size_t size;
};

AuxHeader load_aux_header(const std::byte* at) {
    const auto pack = wire::load<std::uint32_t>(at);
    return AuxHeader{(pack >> 8) & 0x1fU, pack >> 13};
}

}  // namespace

AuxEnd find_aux_end(std::span<const std::byte> bytes, std::size_t& at,
                    std::vector<AuxBlock>* blocks) {
    while (at < bytes.size()) {
        const auto uid = std::to_integer<std::uint8_t>(bytes[at]);
        if (uid == wire::kAuxEndUid << 1) {
            ++at;
            return AuxEnd::found;
        }
        if (uid != wire::kAuxUid << 1) {
            return AuxEnd::damaged;
        }
        if (bytes.size() - at < kAuxHeaderBytes) {
            return AuxEnd::needs_more;
        }
        const AuxHeader header = load_aux_header(bytes.data() + at);
        if (bytes.size() - at - kAuxHeaderBytes < header.size) {
            return AuxEnd::needs_more;
        }
        if (blocks != nullptr) {
            blocks->push_back(
                AuxBlock{header.field, bytes.subspan(at + kAuxHeaderBytes, header.size)});
        }
        at += kAuxHeaderBytes + header.size;
    }
    return AuxEnd::needs_more;
}

bool read_aux(std::span<const std::byte> payload, std::size_t at, std::vector<AuxBlock>& blocks) {
    while (at < payload.size()) {
        const auto uid = std::to_integer<std::uint16_t>(payload[at]);
        if (uid == wire::kAuxEndUid) {
            ++at;  // Some write one behind each field.
            continue;
        }
        if (uid != wire::kAuxUid || payload.size() - at < kAuxHeaderBytes) {
            return false;
        }
        const AuxHeader header = load_aux_header(payload.data() + at);
        at += kAuxHeaderBytes;
        if (payload.size() - at < header.size) {
            return false;
        }
        blocks.push_back(AuxBlock{header.field, payload.subspan(at, header.size)});
        at += header.size;
    }
    return true;
}

}  // namespace sample::trace

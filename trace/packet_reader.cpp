#include "trace/packet_reader.h"

#include <lz4.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace sample::trace {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::string_view kMagic = "2CRT";
constexpr std::string_view kMagicWithoutMetadata = "ECRT";

bool starts_like(std::string_view file, std::string_view magic) {
    return magic.starts_with(file.substr(0, kMagicBytes));
}

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<bool> PacketReader::take_header(std::span<const std::byte>& bytes, ContainerHeader& header) {
    const std::string_view start = as_text(bytes.first(std::min(bytes.size(), kMagicBytes)));
    if (start == "TRC2" || start == "TRCE") {
        return unexpected(ErrorCode::unsupported, "a big-endian trace, which sample does not read");
    }
    const bool has_metadata = starts_like(start, kMagic);
    if (!has_metadata && !starts_like(start, kMagicWithoutMetadata)) {
        return unexpected(ErrorCode::corrupt,
                          "not a recording: it does not begin like a .utrace file; name a file "
                          "that sample has written");
    }
    std::size_t at = kMagicBytes;
    if (has_metadata && bytes.size() >= at + 2) {
        at += 2 + wire::load<std::uint16_t>(bytes.data() + at);
    }
    if (bytes.size() < at + 2 || (has_metadata && at == kMagicBytes)) {
        return false;
    }
    header.transport = std::to_integer<std::uint8_t>(bytes[at]);
    header.protocol = std::to_integer<std::uint8_t>(bytes[at + 1]);
    if ((header.transport != wire::kTransportTidPacket &&
         header.transport != wire::kTransportTidPacketSync) ||
        header.protocol < wire::kFirstProtocol || header.protocol > wire::kProtocol) {
        return unexpected(ErrorCode::unsupported,
                          "a .utrace file of transport " + std::to_string(header.transport) +
                              " and protocol " + std::to_string(header.protocol) +
                              "; sample reads transports 3 and 4 and protocols 5 to 7");
    }
    bytes = bytes.subspan(at + 2);
    return true;
}

PacketStatus PacketReader::next(std::span<const std::byte>& bytes, Packet& packet) {
    const std::span<const std::byte> rest = bytes;
    if (rest.empty()) {
        return PacketStatus::end;
    }
    if (rest.size() < wire::kPacketHeaderBytes) {
        return PacketStatus::cut_off;
    }
    const std::size_t size = wire::load<std::uint16_t>(rest.data());
    const auto tid = wire::load<std::uint16_t>(rest.data() + 2);
    const bool is_lz4 = (tid & wire::kLz4Bit) != 0;
    const std::size_t header = is_lz4 ? wire::kLz4HeaderBytes : wire::kPacketHeaderBytes;
    if (size < header) {
        return PacketStatus::damaged;
    }
    if ((tid & wire::kSerialBit) != 0) {
        return PacketStatus::verified;
    }
    if (size > rest.size()) {
        return PacketStatus::cut_off;
    }
    packet.tid = tid & wire::kTidMask;
    packet.payload = rest.subspan(header, size - header);
    if (is_lz4) {
        const std::size_t decoded_size =
            wire::load<std::uint16_t>(rest.data() + wire::kPacketHeaderBytes);
        decoded_.resize(std::numeric_limits<std::uint16_t>::max());
        const int decoded = LZ4_decompress_safe(
            reinterpret_cast<const char*>(packet.payload.data()),
            reinterpret_cast<char*>(decoded_.data()), static_cast<int>(packet.payload.size()),
            static_cast<int>(decoded_size));
        if (decoded < 0 || static_cast<std::size_t>(decoded) != decoded_size) {
            return PacketStatus::damaged;
        }
        packet.payload = std::span{decoded_}.first(decoded_size);
    }
    bytes = rest.subspan(size);
    return PacketStatus::packet;
}

}  // namespace sample::trace

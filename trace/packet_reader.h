// The container's outer layer, reading: header, and packets one by one.
#pragma once

#include "core/result.h"
#include "trace/wire.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::trace {

enum class PacketStatus : std::uint8_t {
    packet,
    end,       ///< The bytes end after a whole packet.
    cut_off,   ///< They end inside of a packet.
    verified,  ///< A packet with a verification number, which we don't read.
    damaged,   ///< Bytes that cannot be a packet.
};

struct Packet {
    std::uint16_t tid = 0;
    std::span<const std::byte> payload;  ///< Valid until the next call of next().
};

struct ContainerHeader {
    std::uint8_t transport = 0;
    std::uint8_t protocol = 0;
};

/// Takes the container's parts off the front of bytes, as they come. Never reads beyond them,
/// whatever they are; 64 KiB of memory.
class PacketReader {
public:
    /// False: the header is not there as a whole yet, and nothing is taken. Errors: not this
    /// container, or one of a kind that we don't read.
    static Result<bool> take_header(std::span<const std::byte>& bytes, ContainerHeader& header);

    /// Nothing is taken unless it is a packet.
    PacketStatus next(std::span<const std::byte>& bytes, Packet& packet);

private:
    std::vector<std::byte> decoded_;
};

}  // namespace sample::trace

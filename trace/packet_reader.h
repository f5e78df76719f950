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
    end,      ///< The file ends after a whole packet.
    cut_off,  ///< The file ends inside of the header or of a packet.
    damaged,  ///< Bytes that cannot be a packet.
};

struct Packet {
    std::uint16_t tid = 0;
    std::span<const std::byte> payload;  ///< Valid until the next call of next().
};

/// Reads a file in memory. Never reads beyond it, whatever its bytes are; 64 KiB of memory.
class PacketReader {
public:
    /// Reads the header. Errors: empty, not this container, or one of a kind that we don't read. A
    /// file that ends within its header is no error: next() says cut_off.
    static Result<PacketReader> open(std::span<const std::byte> file);

    PacketStatus next(Packet& packet);
    /// Where the packets read so far end in the file.
    [[nodiscard]] std::uint64_t bytes_used() const noexcept { return used_; }

private:
    PacketReader(std::span<const std::byte> file, std::size_t used, bool has_header)
        : file_{file}, used_{used}, has_header_{has_header} {}

    std::span<const std::byte> file_;
    std::size_t used_;
    bool has_header_;
    std::vector<std::byte> decoded_;
};

}  // namespace sample::trace

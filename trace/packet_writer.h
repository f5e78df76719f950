// The container's outer layer, writing: header, and payloads wrapped as packets.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "trace/file_sink.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sample::trace {

using Guid = std::array<std::uint8_t, 16>;

/// Collects packets and writes them in large pieces. Not thread-safe.
class PacketWriter {
public:
    /// Writes the header at once, so that a file that cannot be written is known early.
    static Result<PacketWriter> create(Fd file, const Guid& session, const Guid& trace);
    /// Goes on at the file's position, behind packets that are there already.
    static Result<PacketWriter> append(Fd file);

    /// Adds one packet of stream `tid`, LZ4-compressed where that is smaller. `payload` has at most
    /// wire::kMaxPayloadBytes. A failure to write shows in flush().
    void packet(std::uint16_t tid, std::span<const std::byte> payload);
    /// From now on packets are compressed in a tenth of the time, and are some per cent larger: of
    /// who writes tens of megabytes a second.
    void prefer_speed() noexcept { prefers_speed_ = true; }
    /// Hands every packet to the file. Errors: the first failure of this writer, ever.
    Result<void> flush();

    [[nodiscard]] std::uint64_t bytes_written() const noexcept { return sink_.bytes_written(); }
    [[nodiscard]] bool has_failed() const noexcept { return sink_.has_failed(); }
    /// Makes `error` what flush() reports from now on, unless there was an earlier one.
    void fail(Error error) { sink_.fail(std::move(error)); }

private:
    explicit PacketWriter(FileSink sink);

    FileSink sink_;
    std::vector<std::byte> buffer_;
    bool prefers_speed_ = false;
    std::unique_ptr<std::byte[]> lz4_state_;  // NOLINT(*-avoid-c-arrays): its size is known to lz4
};

}  // namespace sample::trace

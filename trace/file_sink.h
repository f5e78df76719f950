// Writes whole packets to a file, pipe or socket, and never loses an error.
//
// The first failure is kept and repeated by every later call. If only a part of the bytes could be
// written to a regular file, the file is cut back to the last whole packet, so that it stays
// readable. Writing to a pipe or socket whose reader is gone gives EPIPE, never SIGPIPE.
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::trace {

class FileSink {
public:
    /// Takes a descriptor open for writing. Errors: a descriptor that cannot be examined.
    static Result<FileSink> create(Fd file);

    /// Writes the container's header. A part of it is as good as nothing.
    Result<void> write_header(std::span<const std::byte> header);
    /// `packets` is a row of whole packets. Blocks until all is written or an error; ETIMEDOUT: a
    /// descriptor that does not block, and whose reader reads no more.
    Result<void> write_packets(std::span<const std::byte> packets);

    /// Bytes in the file.
    [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }
    [[nodiscard]] bool has_failed() const noexcept { return !status_.has_value(); }
    /// Makes `error` the first failure, unless there was one.
    void fail(Error error);
    [[nodiscard]] const Result<void>& status() const noexcept { return status_; }

private:
    enum class Kind : std::uint8_t { regular, pipe_or_socket, other };

    FileSink(Fd file, Kind kind, std::int64_t start) noexcept
        : file_{std::move(file)}, kind_{kind}, start_{start} {}

    /// Returns how many bytes were written; fewer than all means status_ is set.
    std::size_t write_all(std::span<const std::byte> bytes);
    void keep(std::size_t whole_bytes);

    Fd file_;
    Kind kind_;
    std::int64_t start_;  ///< Where in the file the recording begins.
    std::uint64_t written_ = 0;
    Result<void> status_;
};

}  // namespace sample::trace

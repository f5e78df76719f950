// Reads jit-PID.dump, the file in which a JIT compiler tells what code it makes, record by record.
//
// Two floors need it: the collector, to know which code lay at an address when a sample was taken,
// and symbolize/, for the names. The file is another program's and may still grow, so nothing in it
// is believed and it is never mapped: what is read is a copy, whatever becomes of the file. Code is
// told apart by where its bytes lie in the file, which stays the same when the code moves, and
// which no other code ever has. Source: Linux tools/perf/Documentation/jitdump-specification.txt,
// tools/perf/util/jitdump.h.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::jitdump {

struct Header {
    std::uint32_t pid = 0;
    std::uint64_t timestamp = 0;
    bool has_tick_times = false;  ///< Times are the time stamp counter's, not CLOCK_MONOTONIC's.
};

/// What tells two dumps of one name apart: the pid and the time, as bytes.
[[nodiscard]] std::vector<std::uint8_t> identity_of(const Header& header);

enum class Kind : std::uint8_t { load, move, debug_info, other };

/// One whole record. Sizes agree with each other and with the file's size when it was read.
struct Record {
    Kind kind = Kind::other;
    std::uint64_t offset = 0;  ///< Of the record in the file.
    std::uint32_t size = 0;
    std::uint64_t time = 0;
    std::uint32_t pid = 0;          ///< Of the process whose code it is. 0 of debug information.
    std::uint64_t address = 0;      ///< Of the code; where it moved to.
    std::uint64_t old_address = 0;  ///< Of a move.
    std::uint64_t code_size = 0;    ///< 0 of debug information.
    std::uint64_t code_offset = 0;  ///< Of a load: where the code's bytes lie in the file.
    std::uint64_t entries = 0;      ///< Of debug information.
};

/// Where a load's name, or the entries of debug information, begin within their record.
inline constexpr std::uint32_t kNameOffset = 56;
inline constexpr std::uint32_t kEntriesOffset = 32;

/// Does not own its descriptor. Not thread-safe.
class Reader {
public:
    /// Errors: corrupt (no dump), unsupported (another byte order or version), system.
    [[nodiscard]] static Result<Reader> open(int fd);

    [[nodiscard]] const Header& header() const { return header_; }
    /// The next whole record that the file has so far; later there may be more. None for good once
    /// something is met that is no record: is_damaged(). One system call for 64 KiB of records.
    [[nodiscard]] std::optional<Record> next();
    [[nodiscard]] bool is_damaged() const { return damaged_; }
    /// Copies bytes of the file to `out`; how many there were.
    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;

private:
    explicit Reader(int fd) : fd_{fd} {}
    /// `size` bytes at `offset`, valid until the next call; empty if the file ends before.
    std::span<const std::byte> view(std::uint64_t offset, std::size_t size);

    int fd_;
    Header header_;
    std::uint64_t next_ = 0;  ///< Where the next record begins.
    bool damaged_ = false;
    std::vector<std::byte> window_;
    std::uint64_t window_offset_ = 0;
};

}  // namespace sample::jitdump

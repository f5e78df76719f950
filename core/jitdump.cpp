#include "core/jitdump.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sample::jitdump {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;         // "JiTD" on a big-endian machine
constexpr std::uint32_t kSwappedMagic = 0x4454694A;  // of the other byte order
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kTickTimes = 1;  // JITDUMP_FLAGS_ARCH_TIMESTAMP
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kPrefixBytes = 16;
constexpr std::size_t kMoveBytes = 64;
constexpr std::size_t kWindowBytes = std::size_t{64} << 10U;

template <class Value>
Value value_at(std::span<const std::byte> bytes, std::size_t offset) {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

enum class Id : std::uint32_t { load = 0, move = 1, debug_info = 2 };

/// How much of a record next() looks at, behind the prefix included.
std::size_t fixed_bytes(std::uint32_t id) {
    switch (Id{id}) {
        case Id::load:
            return kNameOffset;
        case Id::move:
            return kMoveBytes;
        case Id::debug_info:
            return kEntriesOffset;
    }
    return kPrefixBytes;
}

/// Fills in what the kind has. False: the sizes contradict each other.
bool parse_fixed(std::uint32_t id, std::span<const std::byte> bytes, Record& record) {
    switch (Id{id}) {
        case Id::load: {
            record.pid = value_at<std::uint32_t>(bytes, 16);
            record.address = value_at<std::uint64_t>(bytes, 32);
            record.code_size = value_at<std::uint64_t>(bytes, 40);
            // The name ends with a zero byte, and the code ends the record.
            if (record.code_size >= record.size - kNameOffset) {
                return false;
            }
            record.code_offset = record.offset + record.size - record.code_size;
            record.kind = Kind::load;
            break;
        }
        case Id::move:
            record.pid = value_at<std::uint32_t>(bytes, 16);
            record.old_address = value_at<std::uint64_t>(bytes, 32);
            record.address = value_at<std::uint64_t>(bytes, 40);
            record.code_size = value_at<std::uint64_t>(bytes, 48);
            record.kind = Kind::move;
            break;
        case Id::debug_info:
            record.address = value_at<std::uint64_t>(bytes, 16);
            record.entries = value_at<std::uint64_t>(bytes, 24);
            record.kind = Kind::debug_info;
            break;
    }
    return record.address + record.code_size >= record.address &&
           record.old_address + record.code_size >= record.old_address;
}

}  // namespace

std::vector<std::uint8_t> identity_of(const Header& header) {
    std::vector<std::uint8_t> bytes;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<std::uint8_t>(header.pid >> shift));
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        bytes.push_back(static_cast<std::uint8_t>(header.timestamp >> shift));
    }
    return bytes;
}

std::size_t Reader::read(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got =
            ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        done += static_cast<std::size_t>(got);
    }
    return done;
}

std::span<const std::byte> Reader::view(std::uint64_t offset, std::size_t size) {
    const bool inside =
        offset >= window_offset_ && offset + size <= window_offset_ + window_.size();
    if (!inside) {
        window_.resize(kWindowBytes);
        window_.resize(read(offset, window_));
        window_offset_ = offset;
        if (window_.size() < size) {
            window_.clear();
            return {};
        }
    }
    return std::span{window_}.subspan(offset - window_offset_, size);
}

Result<Reader> Reader::open(int fd) {
    Reader reader{fd};
    const auto bytes = reader.view(0, kHeaderBytes);
    if (bytes.empty()) {
        return unexpected(ErrorCode::corrupt, "no header yet");
    }
    const auto magic = value_at<std::uint32_t>(bytes, 0);
    if (magic == kSwappedMagic) {
        return unexpected(ErrorCode::unsupported, "written by a machine of another byte order");
    }
    if (magic != kMagic) {
        return unexpected(ErrorCode::corrupt, "not a jitdump file");
    }
    const auto header_bytes = value_at<std::uint32_t>(bytes, 8);
    if (value_at<std::uint32_t>(bytes, 4) != kVersion || header_bytes < kHeaderBytes) {
        return unexpected(ErrorCode::unsupported, "of a jitdump version that is not known");
    }
    reader.header_.pid = value_at<std::uint32_t>(bytes, 20);
    reader.header_.timestamp = value_at<std::uint64_t>(bytes, 24);
    reader.header_.has_tick_times = (value_at<std::uint64_t>(bytes, 32) & kTickTimes) != 0;
    reader.next_ = header_bytes;
    return reader;
}

std::optional<Record> Reader::next() {
    while (!damaged_) {
        auto bytes = view(next_, kPrefixBytes);
        if (bytes.empty()) {
            return std::nullopt;
        }
        Record record;
        record.offset = next_;
        const auto id = value_at<std::uint32_t>(bytes, 0);
        record.size = value_at<std::uint32_t>(bytes, 4);
        record.time = value_at<std::uint64_t>(bytes, 8);
        if (record.size == 0) {
            window_.clear();
            return std::nullopt;  // room that was made and not yet written to
        }
        struct stat info = {};
        if (next_ + record.size > window_offset_ + window_.size() &&
            (::fstat(fd_, &info) != 0 ||
             next_ + record.size > static_cast<std::uint64_t>(info.st_size))) {
            window_.clear();
            return std::nullopt;  // not whole yet
        }
        const std::size_t fixed = fixed_bytes(id);
        bytes = view(next_, fixed);
        if (record.size < fixed || bytes.empty()) {
            damaged_ = true;
            break;
        }
        next_ += record.size;
        if (parse_fixed(id, bytes, record)) {
            return record;
        }
    }
    return std::nullopt;
}

}  // namespace sample::jitdump

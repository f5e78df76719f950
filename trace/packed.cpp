#include "trace/packed.h"

#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <lz4.h>
#include <lz4hc.h>

namespace sample::trace {
namespace {

/// 9 takes up to twice as long for one per cent less.
constexpr int kLevel = 5;
/// No LZ4 block stands for more bytes than this many a byte of its own.
constexpr std::size_t kMaxRatio = 255;

const char* as_text(const std::byte* bytes) {
    return static_cast<const char*>(static_cast<const void*>(bytes));
}

char* as_text(std::byte* bytes) {
    return static_cast<char*>(static_cast<void*>(bytes));
}

}  // namespace

std::vector<std::byte> pack(std::span<const std::byte> bytes, Packing packing) {
    std::vector<std::byte> out;
    if (bytes.size() <= kMaxUnpackedBytes) {
        append_varint(out, (std::uint64_t{bytes.size()} << 1) | 1);
        const std::size_t head = out.size();
        out.resize(head + bytes.size());
        const char* const from = as_text(bytes.data());
        char* const to = as_text(out.data() + head);
        const int size = static_cast<int>(bytes.size());
        // 0 where the block would not be smaller.
        const int packed_size = bytes.empty() ? 0
                                : packing == Packing::small
                                    ? LZ4_compress_HC(from, to, size, size - 1, kLevel)
                                    : LZ4_compress_default(from, to, size, size - 1);
        if (packed_size > 0) {
            out.resize(head + static_cast<std::size_t>(packed_size));
            return out;
        }
        out.clear();
    }
    append_varint(out, std::uint64_t{bytes.size()} << 1);
    wire::append(out, bytes);
    return out;
}

std::optional<std::vector<std::byte>> unpack(std::span<const std::byte> packed) {
    VarintReader head{packed};
    const std::uint64_t word = head.next();
    const std::span<const std::byte> block = head.rest();
    const std::uint64_t size = word >> 1;
    if (!head.ok() || size > kMaxUnpackedBytes) {
        return std::nullopt;
    }
    if ((word & 1) == 0) {
        return size == block.size() ? std::optional{std::vector(block.begin(), block.end())}
                                    : std::nullopt;
    }
    if (block.size() > kMaxUnpackedBytes || size > kMaxRatio * block.size()) {
        return std::nullopt;
    }
    std::vector<std::byte> out(size);
    const int decoded = LZ4_decompress_safe(as_text(block.data()), as_text(out.data()),
                                            static_cast<int>(block.size()), static_cast<int>(size));
    return decoded >= 0 && static_cast<std::uint64_t>(decoded) == size
               ? std::optional{std::move(out)}
               : std::nullopt;
}

}  // namespace sample::trace

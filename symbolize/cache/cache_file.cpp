#include "symbolize/cache/cache_file.h"

#include "trace/packed.h"
#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::string_view kMagic = "SMPLNAME";
constexpr std::size_t kHeadBytes = 16;
/// Of the program, and of how it makes names: raise the number with whatever makes others.
constexpr std::string_view kVersion = SAMPLE_VERSION " 1";
constexpr std::uint64_t kMaxSources = 1000;

/// Eight bytes a step; against what crashes and disks do, not against people.
std::uint64_t checksum(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
    std::uint64_t sum = bytes.size() * kPrime;
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const std::size_t size = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), size);
        sum = std::rotl((sum ^ word) * kPrime, 29);
        bytes = bytes.subspan(size);
    }
    return sum * kPrime;
}

void append_text(std::vector<std::byte>& out, std::string_view text) {
    trace::append_varint(out, text.size());
    trace::wire::append(out, std::as_bytes(std::span{text}));
}

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_{bytes} {}

    std::uint64_t number() {
        trace::VarintReader reader{rest_};
        const std::uint64_t value = reader.next();
        good_ = good_ && reader.ok();
        rest_ = reader.ok() ? reader.rest() : rest_;
        return value;
    }
    std::string_view text() {
        const std::uint64_t size = number();
        good_ = good_ && size <= rest_.size();
        const auto bytes = rest_.first(good_ ? size : 0);
        rest_ = rest_.subspan(bytes.size());
        return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
    }
    [[nodiscard]] bool is_good() const { return good_; }
    [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }

private:
    std::span<const std::byte> rest_;
    bool good_ = true;
};

}  // namespace

std::vector<std::byte> encode_cache_file(const CacheFile& file) {
    std::vector<std::byte> rest;
    append_text(rest, kVersion);
    append_text(rest, {reinterpret_cast<const char*>(file.build_id.data()), file.build_id.size()});
    append_text(rest, file.module_path);
    trace::append_varint(rest, file.sources.size());
    for (const auto& [path, stamp] : file.sources) {
        append_text(rest, path);
        trace::append_varint(rest, stamp.size_and_one);
        trace::append_varint(rest, stamp.changed_ns);
    }
    const trace::SymbolBlock& block = file.block;
    trace::wire::append(rest, trace::pack(trace::encode_symbols(block.addresses, block.symbols.runs,
                                                                block.symbols)));
    std::vector<std::byte> out;
    trace::wire::append(out, std::as_bytes(std::span{kMagic}));
    trace::wire::append(out, checksum(rest), sizeof(std::uint64_t));
    trace::wire::append(out, rest);
    return out;
}

std::optional<CacheFile> decode_cache_file(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeadBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0 ||
        trace::wire::load<std::uint64_t>(bytes.data() + kMagic.size()) !=
            checksum(bytes.subspan(kHeadBytes))) {
        return std::nullopt;
    }
    Reader reader{bytes.subspan(kHeadBytes)};
    if (reader.text() != kVersion) {
        return std::nullopt;
    }
    CacheFile file;
    const std::string_view build_id = reader.text();
    file.build_id.assign(build_id.begin(), build_id.end());
    file.module_path = reader.text();
    const std::uint64_t sources = reader.number();
    for (std::uint64_t i = 0; i < sources && i < kMaxSources && reader.is_good(); ++i) {
        StampedPath& source = file.sources.emplace_back();
        source.path = reader.text();
        source.stamp.size_and_one = reader.number();
        source.stamp.changed_ns = reader.number();
    }
    const auto packed =
        reader.is_good() && sources <= kMaxSources ? trace::unpack(reader.rest()) : std::nullopt;
    auto block = packed ? trace::decode_symbols(*packed) : std::nullopt;
    if (!block) {
        return std::nullopt;
    }
    file.block = std::move(*block);
    return file;
}

}  // namespace sample::symbolize

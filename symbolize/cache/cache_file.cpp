#include "symbolize/cache/cache_file.h"

#include "symbolize/cache/kept_files.h"
#include "trace/packed.h"
#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr std::string_view kCacheMagic = "SMPLNAME";
constexpr std::size_t kHeadBytes = 16;
/// Of the program, and of how it makes names: raise the number with whatever makes others.
constexpr std::string_view kVersion = SAMPLE_VERSION " 3";
constexpr std::uint64_t kMaxSources = 1000;

}  // namespace

std::vector<std::byte> encode_cache_file(const CacheFile& file) {
    std::vector<std::byte> rest;
    trace::append_piece(rest, kVersion);
    trace::append_piece(
        rest, {reinterpret_cast<const char*>(file.build_id.data()), file.build_id.size()});
    trace::append_piece(rest, file.module_path);
    trace::append_varint(rest, file.sources.size());
    for (const auto& [path, stamp] : file.sources) {
        trace::append_piece(rest, path);
        trace::append_varint(rest, stamp.size_and_one);
        trace::append_varint(rest, stamp.changed_ns);
    }
    const trace::SymbolBlock& block = file.block;
    trace::wire::append(
        rest, trace::pack(trace::encode_symbols(block.addresses, block.symbols.runs, block.symbols),
                          trace::Packing::quick));
    const auto magic = std::as_bytes(std::span{kCacheMagic});
    std::vector<std::byte> out{magic.begin(), magic.end()};
    trace::wire::append(out, checksum(rest), sizeof(std::uint64_t));
    trace::wire::append(out, rest);
    return out;
}

std::optional<CacheFile> decode_cache_file(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeadBytes ||
        std::memcmp(bytes.data(), kCacheMagic.data(), kCacheMagic.size()) != 0 ||
        trace::wire::load<std::uint64_t>(bytes.data() + kCacheMagic.size()) !=
            checksum(bytes.subspan(kHeadBytes))) {
        return std::nullopt;
    }
    trace::PieceReader reader{bytes.subspan(kHeadBytes)};
    if (reader.text() != kVersion) {
        return std::nullopt;
    }
    CacheFile file;
    const std::string build_id = reader.text();
    file.build_id.assign(build_id.begin(), build_id.end());
    file.module_path = reader.text();
    const std::uint64_t sources = reader.number();
    for (std::uint64_t i = 0; i < sources && i < kMaxSources && reader.ok(); ++i) {
        StampedPath& source = file.sources.emplace_back();
        source.path = reader.text();
        source.stamp.size_and_one = reader.number();
        source.stamp.changed_ns = reader.number();
    }
    const auto packed =
        reader.ok() && sources <= kMaxSources ? trace::unpack(reader.rest()) : std::nullopt;
    auto block = packed ? trace::decode_symbols(*packed) : std::nullopt;
    if (!block) {
        return std::nullopt;
    }
    file.block = std::move(*block);
    return file;
}

}  // namespace sample::symbolize

// One file of the cache of names as bytes.
//
//   "SMPLNAME", a checksum of the rest (8 bytes), then varints and texts (length, bytes):
//   the version of what makes names, the build-id, the module's path, the places that the names
//   depend on (path, then 0: not there, or 1 + size, time of change in ns), and the names as a
//   packed block (trace/symbol_codec.h).
#pragma once

#include "symbolize/elf/elf_file.h"
#include "trace/symbol_codec.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

/// What names came from, or would have, had it been there.
struct StampedPath {
    std::string path;
    FileStamp stamp;
    bool operator==(const StampedPath&) const = default;
};

struct CacheFile {
    std::vector<std::uint8_t> build_id;
    std::string module_path;
    std::vector<StampedPath> sources;
    trace::SymbolBlock block;
};

[[nodiscard]] std::vector<std::byte> encode_cache_file(const CacheFile& file);
/// nullopt: damaged, or another version's.
[[nodiscard]] std::optional<CacheFile> decode_cache_file(std::span<const std::byte> bytes);

}  // namespace sample::symbolize

// One file of the cache of names as bytes.
//
//   "SMPLNAME", a checksum of the rest (8 bytes), then varints and texts (length, bytes):
//   the version of what makes names, the build-id, the module's path, the places that the names
//   depend on (path, then 0: not there, or 1 + size, time of change in ns), and the names as a
//   packed block (trace/symbol_codec.h).
#pragma once

#include "trace/symbol_codec.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

/// What names came from, or would have, had it been there.
struct CachePlace {
    std::string path;
    std::uint64_t size_and_one = 0;  ///< 0: there is no such file.
    std::uint64_t changed_ns = 0;

    /// As it is now.
    [[nodiscard]] static CachePlace look(const std::string& path);
    bool operator==(const CachePlace&) const = default;
};

struct CacheFile {
    std::vector<std::uint8_t> build_id;
    std::string module_path;
    std::vector<CachePlace> places;
    trace::SymbolBlock block;
};

[[nodiscard]] std::vector<std::byte> encode_cache_file(const CacheFile& file);
/// nullopt: damaged, or another version's.
[[nodiscard]] std::optional<CacheFile> decode_cache_file(std::span<const std::byte> bytes);

}  // namespace sample::symbolize

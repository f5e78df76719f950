// Names that were found once, kept for the next time: a file for each build-id in a folder of the
// user's, with all addresses that were ever asked for.
//
// What it gives is what symbolize() would give: a file counts only while everything that the names
// came from is as it was, by stat(2) alone: the module's path and each place where a debug file was
// looked for, there or not. So an installed debug package is noticed. Names that something was
// missing for are not kept, nor those of modules without a build-id, of code made at run time, of
// the kernel, of the vDSO, and of files that were read through a process.
//
// Beside them lie unpacked debug files (elf/unpacked_file.h), for the names that are not kept yet.
//
// Several processes may use a folder at once (kept_files.h). Of two that add to one file at once,
// the last one's additions stay. Damaged files are deleted.
#pragma once

#include "symbolize/cache/kept_files.h"
#include "symbolize/symbolizer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sample::symbolize {

struct CacheFile;

struct CacheLimits {
    std::uint64_t folder_bytes = std::uint64_t{256}
                                 << 20;  ///< Then those go that were unused longest.
    std::uint64_t file_bytes = std::uint64_t{16} << 20;
    std::size_t addresses = 300'000;  ///< Of one file; with more, the older ones are left out.
};

/// Thread-safe: modules can be named on several threads.
class SymbolCache {
public:
    /// $XDG_CACHE_HOME/sample, or ~/.cache/sample; empty if there is neither.
    [[nodiscard]] static std::string default_folder();

    /// Of a folder that can't be used (kept_files.h), it keeps nothing.
    explicit SymbolCache(const std::string& folder, CacheLimits limits = {});

    /// As sample::symbolize::symbolize(), which is asked for what is not kept yet.
    [[nodiscard]] ModuleSymbols symbolize(const ModuleIdentity& module,
                                          std::span<const std::uint64_t> addresses,
                                          const Options& options = {});

    [[nodiscard]] bool is_usable() const { return files_.is_usable(); }
    [[nodiscard]] CacheUse use() const { return files_.use(); }

private:
    [[nodiscard]] std::optional<CacheFile> read(const std::string& name) const;
    /// Of too many names those of `wanted` alone.
    void write(const std::string& name, const CacheFile& file,
               std::span<const std::uint64_t> wanted);

    KeptFiles files_;
    CacheLimits limits_;
};

/// As cache->symbolize(); without a cache (nullptr) as symbolize().
[[nodiscard]] ModuleSymbols symbolize(SymbolCache* cache, const ModuleIdentity& module,
                                      std::span<const std::uint64_t> addresses,
                                      const Options& options);

}  // namespace sample::symbolize

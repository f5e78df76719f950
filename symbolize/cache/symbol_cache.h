// Names that were found once, kept for the next time: a file for each build-id in a folder of the
// user's, with all addresses that were ever asked for.
//
// What it gives is what symbolize() would give: a file counts only while everything that the names
// came from is as it was, by stat(2) alone: the module's path and each place where a debug file was
// looked for, there or not. So an installed debug package is noticed. Names that something was
// missing for are not kept, nor those of modules without a build-id, of code made at run time, of
// the kernel, of the vDSO, and of files that were read through a process.
//
// Several processes may use a folder at once. A file is written under another name and renamed:
// whoever reads sees the old one or the new one, whole (a checksum tells what a crash has torn). Of
// two that add to one file at once, the last one's additions stay. Damaged files are deleted. Where
// the folder can't be used, nothing is kept, and nothing is said.
#pragma once

#include "core/fd.h"
#include "symbolize/symbolizer.h"

#include <atomic>
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

struct CacheUse {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

/// Thread-safe: modules can be named on several threads.
class SymbolCache {
public:
    /// $XDG_CACHE_HOME/sample, or ~/.cache/sample; empty if there is neither.
    [[nodiscard]] static std::string default_folder();

    /// Makes `folder` and its parents where they are missing, mode 0700. One that can't be made, is
    /// not this user's or may be written by others is not used.
    explicit SymbolCache(const std::string& folder, CacheLimits limits = {});
    /// Brings the folder back to its limit, if anything was added to it.
    ~SymbolCache();
    SymbolCache(const SymbolCache&) = delete;
    SymbolCache& operator=(const SymbolCache&) = delete;
    SymbolCache(SymbolCache&&) = delete;
    SymbolCache& operator=(SymbolCache&&) = delete;

    /// As sample::symbolize::symbolize(), which is asked for what is not kept yet.
    [[nodiscard]] ModuleSymbols symbolize(const ModuleIdentity& module,
                                          std::span<const std::uint64_t> addresses,
                                          const Options& options = {});

    [[nodiscard]] bool is_usable() const { return folder_.is_open(); }
    [[nodiscard]] CacheUse use() const;

private:
    [[nodiscard]] std::optional<CacheFile> read(const std::string& name) const;
    /// Of too many names those of `wanted` alone.
    void write(const std::string& name, const CacheFile& file,
               std::span<const std::uint64_t> wanted);
    void trim() const;

    Fd folder_;
    CacheLimits limits_;
    std::atomic<bool> has_written_{false};
};

/// As cache->symbolize(); without a cache (nullptr) as symbolize().
[[nodiscard]] ModuleSymbols symbolize(SymbolCache* cache, const ModuleIdentity& module,
                                      std::span<const std::uint64_t> addresses,
                                      const Options& options);

}  // namespace sample::symbolize

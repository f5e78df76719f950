#include "symbolize/cache/symbol_cache.h"

#include "core/text.h"
#include "symbolize/cache/cache_file.h"
#include "symbolize/elf/debug_file.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/symbols_builder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::string_view kEnding = ".names";
constexpr std::size_t kMaxBuildIdBytes = 64;

bool is_kept(const ModuleIdentity& module) {
    return module.kind == CodeKind::elf && module.path != "[vdso]" && module.build_id.size() > 1 &&
           module.build_id.size() <= kMaxBuildIdBytes;
}

/// What decides which file is read, known without opening any, as it is now.
std::vector<StampedPath> first_sources(const ModuleIdentity& module, const Options& options) {
    std::vector<StampedPath> sources{{module.path, FileStamp::of(module.path)}};
    for (const std::string& path : files_of(options.debug_roots, module.build_id)) {
        sources.push_back({path, FileStamp::of(path)});
    }
    return sources;
}

/// Still the answer for `module`, whose first sources are `first`?
bool is_current(const CacheFile& file, const ModuleIdentity& module,
                std::span<const StampedPath> first) {
    const auto same =
        std::mismatch(first.begin(), first.end(), file.sources.begin(), file.sources.end());
    return file.build_id == module.build_id && file.module_path == module.path &&
           same.first == first.end() &&
           std::all_of(same.second, file.sources.end(), [](const StampedPath& source) {
               return FileStamp::of(source.path) == source.stamp;
           });
}

/// Where each of `some` is in `all`, which is ascending and has them.
std::vector<std::size_t> indices(std::span<const std::uint64_t> all,
                                 std::span<const std::uint64_t> some) {
    std::vector<std::size_t> result;
    result.reserve(some.size());
    for (const std::uint64_t address : some) {
        const auto at = std::lower_bound(all.begin(), all.end(), address);
        result.push_back(static_cast<std::size_t>(at - all.begin()));
    }
    return result;
}

std::vector<FrameRun> runs_of(const trace::SymbolBlock& block,
                              std::span<const std::uint64_t> addresses) {
    std::vector<FrameRun> runs;
    runs.reserve(addresses.size());
    for (const std::size_t index : indices(block.addresses, addresses)) {
        runs.push_back(block.symbols.runs[index]);
    }
    return runs;
}

/// Takes runs over into symbols in the making. A function that others brought already is theirs.
class Mover {
public:
    Mover(SymbolsBuilder& to, Symbols&& from)
        : to_{to},
          from_{std::move(from)},
          functions_(from_.functions.size(), kNone),
          files_(from_.files.size(), kNone) {}

    FrameRun run(FrameRun run) {
        frames_.clear();
        for (const SymbolFrame& frame : std::span{from_.frames}.subspan(run.first, run.count)) {
            std::uint32_t& function = functions_[frame.function];
            if (function == kNone) {
                function = to_.function(std::move(from_.functions[frame.function]));
            }
            std::uint32_t& file = files_[frame.file];
            if (file == kNone) {
                file = to_.file(from_.files[frame.file]);
            }
            frames_.push_back({function, file, frame.line});
        }
        return to_.run(frames_);
    }

private:
    static constexpr std::uint32_t kNone = 0xffffffff;

    SymbolsBuilder& to_;
    Symbols from_;
    std::vector<std::uint32_t> functions_;  ///< By index in `from_`: the one in `to_`.
    std::vector<std::uint32_t> files_;
    std::vector<SymbolFrame> frames_;
};

/// Adds `more`, the names of `addresses`, which ascend and of which `block` has none.
void add(trace::SymbolBlock& block, std::span<const std::uint64_t> addresses, Symbols&& more) {
    const std::vector<FrameRun> old_runs = std::move(block.symbols.runs);
    const std::vector<FrameRun> new_runs = std::move(more.runs);
    SymbolsBuilder all;
    Mover from_old{all, std::move(block.symbols)};
    Mover from_new{all, std::move(more)};
    trace::SymbolBlock merged;
    std::vector<FrameRun> runs;
    for (std::size_t old = 0, added = 0; old + added < old_runs.size() + new_runs.size();) {
        const bool is_old = added == addresses.size() || (old < block.addresses.size() &&
                                                          block.addresses[old] < addresses[added]);
        merged.addresses.push_back(is_old ? block.addresses[old] : addresses[added]);
        runs.push_back(is_old ? from_old.run(old_runs[old]) : from_new.run(new_runs[added]));
        ++(is_old ? old : added);
    }
    merged.symbols = all.take(std::move(runs));
    block = std::move(merged);
}

/// Not through a process that will be gone: what stat(2) says of the module would not tell.
bool is_lasting(const ModuleIdentity& module, const std::string& file) {
    return std::find(module.other_paths.begin(), module.other_paths.end(), file) ==
           module.other_paths.end();
}

}  // namespace

std::string SymbolCache::default_folder() {
    const std::string xdg = environment("XDG_CACHE_HOME");
    // Base Directory Specification: a relative path is to be ignored.
    if (xdg.starts_with('/')) {
        return xdg + "/sample";
    }
    // Who has no home, such as a service, gets none from us.
    const std::string home = environment("HOME");
    std::error_code error;
    return home.starts_with('/') && std::filesystem::is_directory(home, error)
               ? home + "/.cache/sample"
               : "";
}

SymbolCache::SymbolCache(const std::string& folder, CacheLimits limits)
    : files_{folder, limits.folder_bytes}, limits_{limits} {}

ModuleSymbols SymbolCache::symbolize(const ModuleIdentity& module,
                                     std::span<const std::uint64_t> addresses,
                                     const Options& options) {
    if (!is_usable() || !is_kept(module) || addresses.empty()) {
        return symbolize::symbolize(module, addresses, options);
    }
    const std::string name = to_hex(module.build_id).append(kEnding);
    std::vector<StampedPath> sources = first_sources(module, options);
    CacheFile file = read(name).value_or(CacheFile{});
    if (!is_current(file, module, sources)) {
        file = {};
    }
    std::vector<std::uint64_t> wanted{addresses.begin(), addresses.end()};
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::vector<std::uint64_t> missing;
    std::set_difference(wanted.begin(), wanted.end(), file.block.addresses.begin(),
                        file.block.addresses.end(), std::back_inserter(missing));
    ModuleSymbols result;
    if (!missing.empty()) {
        Options keeping = options;
        keeping.kept = &files_;
        result = symbolize::symbolize(module, missing, keeping);
        add(file.block, missing, std::move(result.symbols));
        if (result.problem.empty() && is_lasting(module, result.file)) {
            for (const std::string& path : result.debug_paths) {
                sources.push_back({path, FileStamp::of(path)});
            }
            file.build_id = module.build_id;
            file.module_path = module.path;
            file.sources = std::move(sources);
            write(name, file, wanted);
        }
    }
    std::vector<FrameRun> runs = runs_of(file.block, addresses);
    result.symbols = std::move(file.block.symbols);
    result.symbols.runs = std::move(runs);
    return result;
}

std::optional<CacheFile> SymbolCache::read(const std::string& name) const {
    const Fd file = files_.open(name);
    struct stat info {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
        return std::nullopt;
    }
    std::optional<CacheFile> kept;
    if (static_cast<std::uint64_t>(info.st_size) <= limits_.file_bytes) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
        const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
        kept = decode_cache_file(
            std::span{bytes}.first(static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
    }
    if (!kept) {
        files_.remove(name);
    }
    return kept;
}

void SymbolCache::write(const std::string& name, const CacheFile& file,
                        std::span<const std::uint64_t> wanted) {
    std::vector<std::byte> bytes;
    if (file.block.addresses.size() <= limits_.addresses) {
        bytes = encode_cache_file(file);
    }
    if (bytes.empty() || bytes.size() > limits_.file_bytes) {
        CacheFile part = file;
        part.block.addresses.assign(wanted.begin(), wanted.end());
        part.block.symbols.runs = runs_of(file.block, wanted);
        bytes = encode_cache_file(part);
    }
    if (bytes.size() <= limits_.file_bytes) {
        files_.replace(name, bytes);
    }
}

ModuleSymbols symbolize(SymbolCache* cache, const ModuleIdentity& module,
                        std::span<const std::uint64_t> addresses, const Options& options) {
    return cache != nullptr ? cache->symbolize(module, addresses, options)
                            : symbolize(module, addresses, options);
}

}  // namespace sample::symbolize

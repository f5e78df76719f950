#include "symbolize/symbol_cache.h"

#include "core/hexadecimal.h"
#include "symbolize/cache_file.h"
#include "symbolize/debug_file.h"
#include "symbolize/elf_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::string_view kEnding = ".names";
constexpr std::string_view kTemporary = "tmp-";
constexpr std::size_t kMaxBuildIdBytes = 64;
constexpr time_t kHour = 3600;
/// After trimming, so that not each run trims.
constexpr std::uint64_t kTrimmedPart = 4;  ///< 3/4 of the limit stay.

std::string environment(const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// mkdir -p, each part for its owner alone.
void make_folder(const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
        ::mkdir(path.substr(0, at).c_str(), 0700);
    }
    ::mkdir(path.c_str(), 0700);
}

bool is_ours_alone(const struct stat& info) {
    return info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct FolderEntry {
    std::string name;
    struct stat info = {};
};

/// The regular files in a folder.
std::vector<FolderEntry> entries_of(const Fd& folder) {
    struct CloseFolder {
        void operator()(DIR* open) const { ::closedir(open); }
    };
    std::vector<FolderEntry> entries;
    Fd own{::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const std::unique_ptr<DIR, CloseFolder> open{own.is_open() ? ::fdopendir(own.get()) : nullptr};
    if (open == nullptr) {
        return entries;
    }
    static_cast<void>(own.release());
    // NOLINTNEXTLINE(concurrency-mt-unsafe): of a stream of our own.
    while (const dirent* entry = ::readdir(open.get())) {
        FolderEntry found{entry->d_name, {}};
        if (::fstatat(folder.get(), entry->d_name, &found.info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(found.info.st_mode)) {
            entries.push_back(std::move(found));
        }
    }
    return entries;
}

bool write_whole(const Fd& file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
        if (count <= 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

bool is_kept(const ModuleFile& module) {
    return module.kind == CodeKind::elf && module.path != "[vdso]" && module.build_id.size() > 1 &&
           module.build_id.size() <= kMaxBuildIdBytes;
}

/// What decides which file is read: known without opening any.
std::vector<std::string> first_places(const ModuleFile& module, const Options& options) {
    std::vector<std::string> places{module.path};
    const auto by_id = files_of(options.debug_roots, module.build_id);
    places.insert(places.end(), by_id.begin(), by_id.end());
    return places;
}

/// Still the answer for `module`?
bool is_current(const CacheFile& file, const ModuleFile& module, const Options& options) {
    const auto first = first_places(module, options);
    return file.build_id == module.build_id && file.module_path == module.path &&
           file.places.size() >= first.size() &&
           std::equal(first.begin(), first.end(), file.places.begin(),
                      [](const std::string& path, const CachePlace& place) {
                          return path == place.path;
                      }) &&
           std::all_of(file.places.begin(), file.places.end(), [](const CachePlace& place) {
               return CachePlace::look(place.path) == place;
           });
}

/// The index of `address`, if it is there.
std::optional<std::size_t> find(std::span<const std::uint64_t> ascending, std::uint64_t address) {
    const auto at = std::lower_bound(ascending.begin(), ascending.end(), address);
    return at != ascending.end() && *at == address
               ? std::optional{static_cast<std::size_t>(at - ascending.begin())}
               : std::nullopt;
}

/// The names of both; an address of both has those of `more`. `addresses` are those of `more`.
trace::SymbolBlock joined(trace::SymbolBlock kept, std::span<const std::uint64_t> addresses,
                          Symbols&& more) {
    if (kept.addresses.empty()) {
        return {{addresses.begin(), addresses.end()}, std::move(more)};
    }
    trace::SymbolBlock block;
    block.addresses = kept.addresses;
    block.addresses.insert(block.addresses.end(), addresses.begin(), addresses.end());
    std::sort(block.addresses.begin(), block.addresses.end());
    block.addresses.erase(std::unique(block.addresses.begin(), block.addresses.end()),
                          block.addresses.end());
    const auto places_of = [&](std::span<const std::uint64_t> some) {
        std::vector<std::size_t> places;
        for (const std::uint64_t address : some) {
            places.push_back(*find(block.addresses, address));
        }
        return places;
    };
    block.symbols.runs.resize(block.addresses.size());
    const auto kept_places = places_of(kept.addresses);
    merge(block.symbols, std::move(kept.symbols), kept_places);
    merge(block.symbols, std::move(more), places_of(addresses));
    return block;
}

std::vector<std::uint64_t> ascending(std::span<const std::uint64_t> addresses) {
    std::vector<std::uint64_t> result{addresses.begin(), addresses.end()};
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

/// Not through a process that will be gone: what stat(2) says of the module would not tell.
bool is_lasting(const ModuleFile& module, const std::string& file) {
    return std::find(module.other_paths.begin(), module.other_paths.end(), file) ==
           module.other_paths.end();
}

std::vector<CachePlace> places_as_they_are(const ModuleFile& module, const Options& options) {
    std::vector<CachePlace> places;
    for (const std::string& path : first_places(module, options)) {
        places.push_back(CachePlace::look(path));
    }
    return places;
}

/// Of `file` the names of `wanted`, all of which it has.
CacheFile only(const CacheFile& file, std::span<const std::uint64_t> wanted) {
    CacheFile part = file;
    std::vector<FrameRun> runs;
    for (const std::uint64_t address : wanted) {
        runs.push_back(file.block.symbols.runs[*find(file.block.addresses, address)]);
    }
    part.block.addresses.assign(wanted.begin(), wanted.end());
    part.block.symbols.runs = std::move(runs);
    return part;
}

}  // namespace

std::string SymbolCache::default_folder() {
    const std::string xdg = environment("XDG_CACHE_HOME");
    // Base Directory Specification: a relative path is to be ignored.
    if (xdg.starts_with('/')) {
        return xdg + "/sample";
    }
    const std::string home = environment("HOME");
    return home.starts_with('/') ? home + "/.cache/sample" : "";
}

SymbolCache::SymbolCache(const std::string& folder, CacheLimits limits) : limits_{limits} {
    if (folder.empty()) {
        return;
    }
    Fd open{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!open.is_open()) {
        make_folder(folder);
        open = Fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    }
    struct stat info {};
    if (open.is_open() && ::fstat(open.get(), &info) == 0 && is_ours_alone(info)) {
        folder_ = std::move(open);
    }
}

SymbolCache::~SymbolCache() {
    if (has_written_.load(std::memory_order_relaxed)) {
        trim();
    }
}

ModuleSymbols SymbolCache::symbolize(const ModuleFile& module,
                                     std::span<const std::uint64_t> addresses,
                                     const Options& options) {
    if (!is_usable() || !is_kept(module) || addresses.empty()) {
        return symbolize::symbolize(module, addresses, options);
    }
    const std::string name = to_hex(module.build_id).append(kEnding);
    CacheFile file = read(name).value_or(CacheFile{});
    if (!is_current(file, module, options)) {
        file = {};
    }
    const std::vector<std::uint64_t> wanted = ascending(addresses);
    std::vector<std::uint64_t> missing;
    std::set_difference(wanted.begin(), wanted.end(), file.block.addresses.begin(),
                        file.block.addresses.end(), std::back_inserter(missing));
    ModuleSymbols result;
    if (!missing.empty()) {
        const auto places = places_as_they_are(module, options);
        result = symbolize::symbolize(module, missing, options);
        file.block = joined(std::move(file.block), missing, std::move(result.symbols));
        if (result.problem.empty() && is_lasting(module, result.file)) {
            file.build_id = module.build_id;
            file.module_path = module.path;
            file.places = places;
            for (const std::string& place : result.debug_places) {
                file.places.push_back(CachePlace::look(place));
            }
            write(name, file, wanted);
        }
    }
    std::vector<FrameRun> runs;
    runs.reserve(addresses.size());
    for (const std::uint64_t address : addresses) {
        runs.push_back(file.block.symbols.runs[*find(file.block.addresses, address)]);
    }
    result.symbols = std::move(file.block.symbols);
    result.symbols.runs = std::move(runs);
    return result;
}

std::optional<CacheFile> SymbolCache::read(const std::string& name) const {
    const Fd file{
        ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat info {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        !is_ours_alone(info)) {
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
        ::unlinkat(folder_.get(), name.c_str(), 0);
    } else if (info.st_mtim.tv_sec + kHour < ::time(nullptr)) {
        ::futimens(file.get(), nullptr);  // What was used last goes last.
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
        bytes = encode_cache_file(only(file, wanted));
    }
    if (bytes.size() > limits_.file_bytes) {
        return;
    }
    // Its own name, whichever threads and processes write now.
    static std::atomic<unsigned> counter{0};
    const std::string temporary = std::string{kTemporary} + std::to_string(::getpid()) + "-" +
                                  std::to_string(counter.fetch_add(1)) + "-" + name;
    const Fd out{::openat(folder_.get(), temporary.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!out.is_open()) {
        return;
    }
    if (write_whole(out, bytes) &&
        ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) == 0) {
        has_written_.store(true, std::memory_order_relaxed);
    } else {
        ::unlinkat(folder_.get(), temporary.c_str(), 0);
    }
}

void SymbolCache::trim() const {
    std::vector<FolderEntry> files;
    std::uint64_t bytes = 0;
    const time_t now = ::time(nullptr);
    for (FolderEntry& entry : entries_of(folder_)) {
        if (entry.name.starts_with(kTemporary)) {
            if (entry.info.st_mtim.tv_sec + kHour < now) {
                ::unlinkat(folder_.get(), entry.name.c_str(), 0);  // Of a writer that was killed.
            }
        } else if (entry.name.ends_with(kEnding)) {
            bytes += static_cast<std::uint64_t>(entry.info.st_size);
            files.push_back(std::move(entry));
        }
    }
    if (bytes <= limits_.folder_bytes) {
        return;
    }
    std::sort(files.begin(), files.end(), [](const FolderEntry& a, const FolderEntry& b) {
        return std::pair{a.info.st_mtim.tv_sec, a.info.st_mtim.tv_nsec} <
               std::pair{b.info.st_mtim.tv_sec, b.info.st_mtim.tv_nsec};
    });
    for (const FolderEntry& file : files) {
        if (bytes <= limits_.folder_bytes - limits_.folder_bytes / kTrimmedPart) {
            return;
        }
        ::unlinkat(folder_.get(), file.name.c_str(), 0);
        bytes -= static_cast<std::uint64_t>(file.info.st_size);
    }
}

CacheUse SymbolCache::use() const {
    CacheUse use;
    if (is_usable()) {
        for (const FolderEntry& entry : entries_of(folder_)) {
            if (entry.name.ends_with(kEnding)) {
                ++use.files;
                use.bytes += static_cast<std::uint64_t>(entry.info.st_size);
            }
        }
    }
    return use;
}

}  // namespace sample::symbolize

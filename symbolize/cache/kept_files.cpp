#include "symbolize/cache/kept_files.h"

#include <zlib.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::string_view kNames = ".names";
constexpr std::string_view kUnpacked = ".unpacked";
constexpr std::string_view kTemporary = "tmp-";
constexpr time_t kHour = 3600;
/// A quarter of the limit goes at once, so that not each run trims; so much may be new between.
constexpr std::uint64_t kTrimmedPart = 4;

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

bool is_kept_file(std::string_view name) {
    return name.ends_with(kNames) || name.ends_with(kUnpacked);
}

struct FolderEntry {
    std::string name;
    struct stat info = {};
};

/// The regular files in a folder.
std::vector<FolderEntry> entries_of(const Fd& folder) {
    std::vector<FolderEntry> entries;
    std::error_code error;
    std::filesystem::directory_iterator at{"/proc/self/fd/" + std::to_string(folder.get()), error};
    for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error)) {
        FolderEntry found{at->path().filename(), {}};
        if (::fstatat(folder.get(), found.name.c_str(), &found.info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(found.info.st_mode)) {
            entries.push_back(std::move(found));
        }
    }
    return entries;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
    return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

KeptFiles::KeptFiles(const std::string& folder, std::uint64_t limit_bytes)
    : limit_bytes_{limit_bytes} {
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

Fd KeptFiles::open(const std::string& name) const {
    Fd file{::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat info {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        !is_ours_alone(info)) {
        return {};
    }
    if (info.st_atim.tv_sec + kHour < ::time(nullptr)) {
        // What was used last goes last. When it was written tells others whether it is as it was.
        const timespec used_now[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
        ::futimens(file.get(), used_now);
    }
    return file;
}

void KeptFiles::replace(const std::string& name, std::span<const std::byte> bytes) {
    // Its own name, whichever threads and processes write now.
    static std::atomic<unsigned> counter{0};
    const std::string temporary = std::string{kTemporary} + std::to_string(::getpid()) + "-" +
                                  std::to_string(counter.fetch_add(1)) + "-" + name;
    const Fd out{::openat(folder_.get(), temporary.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!out.is_open()) {
        return;
    }
    if (write_all(out.get(), bytes) != bytes.size() ||
        ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) != 0) {
        ::unlinkat(folder_.get(), temporary.c_str(), 0);
    } else if (new_bytes_.fetch_add(bytes.size(), std::memory_order_relaxed) + bytes.size() >
               limit_bytes_ / kTrimmedPart) {
        trim();
    }
}

void KeptFiles::remove(const std::string& name) const {
    ::unlinkat(folder_.get(), name.c_str(), 0);
}

/// If anything was written. What killed writers left goes, too.
void KeptFiles::trim() {
    if (new_bytes_.exchange(0, std::memory_order_relaxed) == 0) {
        return;
    }
    std::vector<FolderEntry> files;
    std::uint64_t bytes = 0;
    const time_t now = ::time(nullptr);
    for (FolderEntry& entry : entries_of(folder_)) {
        if (entry.name.starts_with(kTemporary)) {
            if (entry.info.st_mtim.tv_sec + kHour < now) {
                ::unlinkat(folder_.get(), entry.name.c_str(), 0);  // Of a writer that was killed.
            }
        } else if (is_kept_file(entry.name)) {
            bytes += static_cast<std::uint64_t>(entry.info.st_size);
            files.push_back(std::move(entry));
        }
    }
    if (bytes <= limit_bytes_) {
        return;
    }
    std::sort(files.begin(), files.end(), [](const FolderEntry& a, const FolderEntry& b) {
        return std::pair{a.info.st_atim.tv_sec, a.info.st_atim.tv_nsec} <
               std::pair{b.info.st_atim.tv_sec, b.info.st_atim.tv_nsec};
    });
    for (const FolderEntry& file : files) {
        if (bytes <= limit_bytes_ - limit_bytes_ / kTrimmedPart) {
            return;
        }
        ::unlinkat(folder_.get(), file.name.c_str(), 0);
        bytes -= static_cast<std::uint64_t>(file.info.st_size);
    }
}

CacheUse KeptFiles::use() const {
    CacheUse use;
    if (is_usable()) {
        for (const FolderEntry& entry : entries_of(folder_)) {
            if (is_kept_file(entry.name)) {
                use.modules += entry.name.ends_with(kNames) ? 1 : 0;
                use.bytes += static_cast<std::uint64_t>(entry.info.st_size);
            }
        }
    }
    return use;
}

}  // namespace sample::symbolize

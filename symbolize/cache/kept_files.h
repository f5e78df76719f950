// The files of the cache: a folder of this user's, and nobody else's.
//
// Several processes may use it at once. A file is written under another name and renamed: whoever
// reads sees the old one or the new one, whole; what a crash has torn, its reader tells by a
// checksum. Where the folder can't be used, nothing is kept, and nothing is said.
#pragma once

#include "core/fd.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sample::symbolize {

/// Of what a file holds: against what crashes and disks do, not against people.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

struct CacheUse {
    std::uint64_t modules = 0;  ///< That names are kept of.
    std::uint64_t bytes = 0;
};

/// Thread-safe.
class KeptFiles {
public:
    /// Makes `folder` and its parents where they are missing, mode 0700. One that can't be made, is
    /// not this user's or may be written by others is not used. Of more than `limit_bytes` those
    /// files go that were unused longest, now and then and at the end.
    KeptFiles(const std::string& folder, std::uint64_t limit_bytes);
    ~KeptFiles() { trim(); }
    KeptFiles(const KeptFiles&) = delete;
    KeptFiles& operator=(const KeptFiles&) = delete;
    KeptFiles(KeptFiles&&) = delete;
    KeptFiles& operator=(KeptFiles&&) = delete;

    [[nodiscard]] bool is_usable() const { return folder_.is_open(); }
    /// A regular file that only this user may write; it counts as used. None: not open.
    [[nodiscard]] Fd open(const std::string& name) const;
    /// What there was under that name before stays, if it can't be replaced.
    void replace(const std::string& name, std::span<const std::byte> bytes);
    void remove(const std::string& name) const;

    [[nodiscard]] CacheUse use() const;

private:
    void trim();

    Fd folder_;
    std::uint64_t limit_bytes_;
    std::atomic<std::uint64_t> new_bytes_{0};  ///< Written since the folder was looked through.
};

}  // namespace sample::symbolize

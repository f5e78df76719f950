// Which programs are Go's: asked at every start of a process, read from its file once.
//
// A file is known by device, inode, size and time of change, as long as the session lasts. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>

namespace sample::collector {

class GoPrograms {
public:
    /// Whether the file that `pid` runs is a Go program. False if it cannot be read.
    [[nodiscard]] bool is_go(pid_t pid);

private:
    using FileKey = std::array<std::uint64_t, 5>;
    std::map<FileKey, bool> is_go_;
};

}  // namespace sample::collector

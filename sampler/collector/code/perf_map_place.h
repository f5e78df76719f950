// Where one process's perf map lies: /tmp/perf-PID.map, as the process itself sees both, which in a
// container is another file, and another number, than here.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sample::collector {

/// What a file had at some time, in whole lines: perf maps only grow.
struct FilePart {
    std::shared_ptr<const Fd> file;
    std::uint64_t bytes = 0;
};

class PerfMapPlace {
public:
    /// Looks at the process, which should be alive still: who owns it, what it calls itself, where
    /// its /tmp is. Holds the folder, for the names of another mount namespace end with it.
    explicit PerfMapPlace(pid_t pid);

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string path() const;
    /// Not open if there is no regular file of that name itself.
    [[nodiscard]] Fd open() const;
    /// Whether it is a file of the process's user, or root's, as perf demands.
    [[nodiscard]] bool is_trusted(const Fd& file) const;
    /// Nobody removes maps, and numbers of processes are used again: whether it was written to last
    /// before the process was there.
    [[nodiscard]] bool is_stale(const Fd& file) const;
    /// The map as it is now; none if it is not there or not to be trusted.
    [[nodiscard]] std::vector<FilePart> snapshot() const;
    /// The process's own root; not open if it is closed to us.
    [[nodiscard]] const Fd& root() const { return root_; }
    [[nodiscard]] pid_t own_pid() const { return own_pid_; }

private:
    pid_t own_pid_;  ///< As the process itself knows it.
    uid_t owner_;
    std::int64_t started_ns_;  ///< By the clock of files; 0: not known.
    Fd root_;
    Fd temporary_;
};

/// The map of a process that forks now. One system call if there is none.
[[nodiscard]] std::vector<FilePart> perf_map_of(pid_t pid, pid_t own_pid);

/// Opens `path` as a process with `root` as its root would. No magic links: those lead out.
[[nodiscard]] Fd open_in(const Fd& root, const char* path, int flags);

}  // namespace sample::collector

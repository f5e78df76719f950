// What a thread of this process may do, as far as /proc tells: whose it is, and how many seccomp
// filters hold it.
//
// The sampling thread compares itself with the program's first thread, and ends when that has less.
// Capabilities need no comparison: the sampling thread has none (drop_rights()).
// By raw system calls. Async-signal-safe. Source: proc(5), /proc/PID/task/TID/status.
#pragma once

#include <cstdint>
#include <string_view>

namespace sample::source {

struct TaskRights {
    bool is_known = false;  ///< Not of a thread that has ended.
    std::uint64_t ids = 0;  ///< A hash of its users, groups and supplementary groups.
    std::uint64_t seccomp_mode = 0;
    std::uint64_t filters = 0;

    /// Other users and groups are not less: they count as more.
    [[nodiscard]] bool exceed(const TaskRights& other) const noexcept {
        return is_known && other.is_known &&
               (ids != other.ids || seccomp_mode < other.seccomp_mode || filters < other.filters);
    }
};

/// The text of a status file.
[[nodiscard]] TaskRights parse_rights(std::string_view text) noexcept;

/// Of the thread `tid` below `folder`, a descriptor of /proc/self/task. Three system calls.
[[nodiscard]] TaskRights rights_of(int folder, int tid) noexcept;

/// The calling thread gives up its capabilities, and whatever an exec could give it. False: it
/// could not. Source: capabilities(7).
[[nodiscard]] bool drop_rights() noexcept;

}  // namespace sample::source

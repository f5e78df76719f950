// What /proc tells of a process. Everything may be gone or closed to us: then the answer is empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sample::collector {

[[nodiscard]] std::string executable_of(pid_t pid);
/// Arguments separated by spaces.
[[nodiscard]] std::string command_line_of(pid_t pid);
[[nodiscard]] std::string thread_name_of(pid_t pid, pid_t tid);
[[nodiscard]] bool is_traced(pid_t pid);
/// The process that the thread `tid` belongs to; 0: there is none.
[[nodiscard]] pid_t process_of_thread(pid_t tid);
/// 0: nobody, or nobody that this namespace knows.
[[nodiscard]] pid_t tracer_of(pid_t pid);

/// By the clock that files are dated by, in nanoseconds; off by up to the kernel's tick of 10 ms.
/// An exec does not change it. Source: proc(5), field 22 of stat.
[[nodiscard]] std::optional<std::int64_t> start_time_ns(pid_t pid);

/// As we know it; 0 if that is not known.
[[nodiscard]] pid_t parent_of(pid_t pid);

struct OwnIdentity {
    pid_t pid = 0;   ///< As the process itself knows it.
    uid_t user = 0;  ///< Effective, as we know it.
};
[[nodiscard]] std::optional<OwnIdentity> identity_in_own_namespace(pid_t pid);

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    bool executable = false;
    std::string path;  ///< Empty: anonymous.
};
[[nodiscard]] std::vector<Mapping> mappings_of(pid_t pid);

/// Resident bytes of the mappings whose path holds `text`.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes_of(pid_t pid, const std::string& text);

/// CPU time of a process, also of one that has died but was not waited for yet.
/// Source: clock_getcpuclockid(3); include/linux/posix-timers.h.
[[nodiscard]] std::optional<std::uint64_t> process_cpu_ns(pid_t pid);

}  // namespace sample::collector

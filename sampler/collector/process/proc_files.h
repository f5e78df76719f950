// What the kernel tells of a process, most of it by /proc. Everything may be gone or closed to us:
// then the answer is empty.
#pragma once

#include "core/fd.h"
#include "trace/records.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::collector {

/// Whether the numbers in /proc are those that we know: in a new pid namespace it may still be the
/// outer one's. Source: pid_namespaces(7), /proc and PID namespaces.
[[nodiscard]] bool has_own_proc();

/// "/proc/PID/file", by the number that the process has there.
[[nodiscard]] std::string proc_path(pid_t pid, std::string_view file);
/// "/proc/PID/task"; not open where its entries are not the numbers that we know.
[[nodiscard]] Fd open_task_folder(pid_t pid);
/// proc_path() of a file that tells of the process's memory or its root, which its first thread has
/// no longer once it has left: then "/proc/PID/task/TID/file" of one that lives.
[[nodiscard]] std::string living_path(pid_t pid, std::string_view file);

[[nodiscard]] std::string executable_of(pid_t pid);
/// Whether the process is known to be in another network namespace than the calling one.
[[nodiscard]] bool is_in_another_network(pid_t pid);
/// Arguments separated by spaces.
[[nodiscard]] std::string command_line_of(pid_t pid);
/// Without a first thread that has left; empty: the process is gone or closed to us.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);
[[nodiscard]] std::string thread_name_of(pid_t pid, pid_t tid);
/// The process that the thread `tid` belongs to; 0: there is none.
[[nodiscard]] pid_t process_of_thread(pid_t tid);
/// What the process's status file says, which takes the kernel 5 us; empty: it is gone.
[[nodiscard]] std::string status_of(pid_t pid);
/// 0: nobody, or nobody that this namespace knows.
[[nodiscard]] pid_t tracer_in(std::string_view status);

/// By the clock that files are dated by, in nanoseconds; off by up to the kernel's tick of 10 ms.
/// An exec does not change it. Source: proc(5), field 22 of stat.
[[nodiscard]] std::optional<std::int64_t> start_time_ns(pid_t pid);

/// What the kernel has told it at its start, under `type` (AT_ENTRY, ...); nothing: not told, or
/// not to be seen. Source: getauxval(3); proc(5), auxv.
[[nodiscard]] std::optional<std::uint64_t> auxiliary_value(pid_t pid, std::uint64_t type);

/// As we know it; 0 if that is not known.
[[nodiscard]] pid_t parent_of(pid_t pid);

/// By its flags: that it has no memory it shares with a process that is ending.
/// Source: proc(5), field 9 of stat; Linux include/linux/sched.h.
[[nodiscard]] bool is_kernel_thread(pid_t pid);

struct ProcessStat {
    std::string name;  ///< That of its first thread: of the file that it runs, as a rule.
    pid_t parent = 0;
    std::uint64_t system_cpu_ns = 0;    ///< Of its CPU time, what it was in the kernel, to such a
                                        ///< tick: of each of the scheduler's ticks it is found
                                        ///< either there or in its own code.
    std::uint64_t children_cpu_ns = 0;  ///< Of those that it has waited for, and theirs; up to two
                                        ///< of the kernel's ticks of 10 ms too little.
};
/// Source: proc(5), stat.
[[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid);

/// The number that was given to a process or thread last; 0 if it is not known. The next one's is
/// greater, but for the beginning anew at most_pid(). Source: proc(5), loadavg.
[[nodiscard]] pid_t newest_pid();
[[nodiscard]] pid_t most_pid();
/// Those whose numbers were given after `first`'s and whose last exec was given an environment that
/// holds `text`: 10 us each. The kernel shows it to who may trace them. Source: proc(5), environ.
[[nodiscard]] std::vector<pid_t> processes_after(pid_t first, std::string_view text);

struct OwnIdentity {
    pid_t pid = 0;   ///< As the process itself knows it.
    uid_t user = 0;  ///< Effective, as we know it.
};
[[nodiscard]] std::optional<OwnIdentity> identity_in_own_namespace(pid_t pid);

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::uint64_t device = 0;  ///< As FileIdentity has it, where stat() tells of the same numbers.
    std::uint64_t inode = 0;
    bool executable = false;
    std::string path;  ///< Empty: anonymous.
};
[[nodiscard]] std::vector<Mapping> mappings_of(pid_t pid);

/// What is mapped there; empty: nothing.
[[nodiscard]] Mapping mapping_at(pid_t pid, std::uint64_t address);

/// The very file of a mapping, whatever its name leads to by now; not open without CAP_SYS_ADMIN or
/// CAP_CHECKPOINT_RESTORE, or if it is no regular file. Source: proc(5).
[[nodiscard]] Fd open_map_file(pid_t pid, const Mapping& mapping);

/// Resident bytes of the mappings whose path holds `text`.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes_of(pid_t pid, const std::string& text);

/// CPU time of a process, also of one that has died but was not waited for yet.
/// Source: clock_getcpuclockid(3); include/linux/posix-timers.h.
[[nodiscard]] std::optional<std::uint64_t> process_cpu_ns(pid_t pid);
/// Whether there is such a clock: `pid` is a process, not a thread, and nobody has waited for it.
[[nodiscard]] bool has_process_clock(pid_t pid);

/// What the children of our own child `pid` had when it waited for them, and theirs; exact, once it
/// has ended. Else as stat_of(). Source: Linux kernel/exit.c, the fifth argument of waitid.
[[nodiscard]] std::optional<std::uint64_t> children_cpu_ns(pid_t pid);

/// CPU time of a thread of another process: exact while it sleeps, up to a tick of the scheduler
/// old while it runs; 0 if it is not known. Source: Linux Documentation/scheduler/sched-stats.rst.
[[nodiscard]] std::uint64_t thread_cpu_ns(pid_t pid, pid_t tid);

/// The threads of a process by the numbers that they have in its own pid namespace.
class ThreadNumbers {
public:
    /// `are_same`: that is ours. Else a look at each thread, some 10 us each.
    ThreadNumbers(pid_t pid, bool are_same);
    /// The number here. What is none of their numbers is taken for one here.
    [[nodiscard]] pid_t here(std::uint32_t own) const;
    /// The numbers here of all threads, by their own.
    [[nodiscard]] std::unordered_map<std::uint32_t, pid_t> all() const;

private:
    pid_t pid_;
    bool are_same_;
    std::unordered_map<std::uint32_t, pid_t> here_;  ///< Unless they are the same.
};

/// A thread that the kernel has in a process to serve its io_uring. It runs in the kernel only, and
/// no signal reaches it.
struct RingWorker {
    pid_t tid = 0;
    std::string name;  ///< "iou-sqp-PID", "iou-wrk-PID".
    std::uint64_t cpu_ns = 0;
};
/// A look at each thread of the process, some 10 us each. Source: Linux kernel/fork.c,
/// create_io_thread; proc(5), field 9 of stat.
[[nodiscard]] std::vector<RingWorker> ring_workers_of(pid_t pid);

// How a process died, by its pidfd. Works for processes that are not our children, where the kernel
// tells.
struct ProcessFate {
    trace::EndKind kind = trace::EndKind::unknown;
    int code = 0;
};

/// Not reaped: whoever waits for the process still can. `unknown` where neither waitid(2), /proc
/// nor PIDFD_GET_INFO (Linux 6.15) may tell.
[[nodiscard]] ProcessFate fate_of(pid_t pid, int pidfd);

/// Whether it has ended. Without a pidfd (-1) `pid` must not have been used again.
[[nodiscard]] bool has_died(pid_t pid, int pidfd);

}  // namespace sample::collector

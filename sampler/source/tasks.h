// The threads of this process, as /proc tells of them: which there are, what each does right now,
// its clocks, and what it may do.
//
// By raw system calls, and without libc. Async-signal-safe. Source: proc(5),
// clock_getcpuclockid(3).
#pragma once

#include "core/kernel_clock.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sample::source {

/// A short path of words and numbers, put together.
class ShortPath {
public:
    explicit ShortPath(std::string_view first) noexcept { *this << first; }
    ShortPath& operator<<(std::string_view word) noexcept;
    ShortPath& operator<<(int number) noexcept;  ///< Not negative.
    [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

private:
    std::array<char, 64> text_{};
    std::size_t size_ = 0;
};

/// The file at `path` below `folder`, read once into `buffer`; empty if it cannot be.
[[nodiscard]] std::string_view read_file(int folder, const char* path,
                                         std::span<char> buffer) noexcept;

/// The second number of a line, as in statm and schedstat; 0 if there is none.
[[nodiscard]] std::uint64_t second_number(std::string_view text) noexcept;

/// A descriptor, or a negative errno.
inline int open_folder(const char* path) noexcept {
    return static_cast<int>(capture::raw_syscall(SYS_open, capture::as_argument(path),
                                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}
/// A descriptor of /proc/self/task, or a negative errno.
inline int open_task_folder() noexcept {
    return open_folder("/proc/self/task");
}

/// Whether the numbers in /proc are those that this process knows: in a new pid namespace it may
/// still be the outer one's. Source: pid_namespaces(7), /proc and PID namespaces.
[[nodiscard]] bool has_own_proc() noexcept;

/// A descriptor of /proc/PID/task, or a negative errno.
[[nodiscard]] int open_tasks_of(int pid) noexcept;

/// Whether the process has ended, also if its parent has not asked for it yet. Opens a descriptor
/// for a moment.
[[nodiscard]] bool process_has_ended(int pid) noexcept;

/// Calls `visit` with every entry that is a number, which returns false to end the listing.
/// `folder` is read from its start.
template <class Visit>
void for_each_number(int folder, Visit visit) noexcept {
    struct Entry {
        std::uint64_t inode;
        std::int64_t offset;
        std::uint16_t size;
        std::uint8_t type;
        char name[1];
    };
    capture::raw_syscall(SYS_lseek, folder, 0, 0);
    alignas(8) std::array<char, 2048> buffer{};
    for (;;) {
        const long bytes =
            capture::raw_syscall(SYS_getdents64, folder, capture::as_argument(buffer.data()),
                                 static_cast<long>(buffer.size()));
        if (bytes <= 0) {
            return;
        }
        for (long at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const Entry*>(buffer.data() + at);
            at += entry->size;
            const char* digit = reinterpret_cast<const char*>(entry) + offsetof(Entry, name);
            if (*digit < '0' || *digit > '9') {
                continue;
            }
            int number = 0;
            for (; *digit >= '0' && *digit <= '9'; ++digit) {
                number = number * 10 + (*digit - '0');
            }
            if (!visit(number)) {
                return;
            }
        }
    }
}

/// The CPU clock of a thread of this process, for clock_gettime. Source: the kernel's
/// include/linux/posix-timers.h: CPUCLOCK_PERTHREAD_MASK 4, CPUCLOCK_SCHED 2.
inline clockid_t thread_clock(int tid) noexcept {
    return static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3U | 6U);
}

/// CPU time of a thread of this process; 0 if it is gone.
inline std::uint64_t cpu_ns_of(int tid) noexcept {
    return read_kernel_clock_ns(thread_clock(tid));
}

/// What a thread does: runs or waits for a processor, or sleeps, and where.
struct TaskState {
    enum class Kind : std::uint8_t {
        unknown,  ///< The thread is gone, or the kernel does not tell.
        awake,    ///< On a processor or waiting for one.
        asleep,
    };
    Kind kind = Kind::unknown;
    std::uint64_t pc = 0;  ///< In the program, where the kernel was entered; of a sleeping thread.
    std::uint64_t sp = 0;
};

/// The text of /proc/PID/task/TID/syscall.
[[nodiscard]] TaskState parse_task_state(std::string_view text) noexcept;

/// Of the thread `tid` below `folder`, a descriptor of /proc/self/task. Three system calls.
[[nodiscard]] TaskState task_state(int folder, int tid) noexcept;

/// What the scheduler has counted of a thread since it began; zeros if the kernel does not tell.
/// Source: Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
struct ScheduleCounts {
    std::uint64_t wait_ns = 0;  ///< For a processor.
    std::uint64_t runs = 0;     ///< How often it was put on one.
};
[[nodiscard]] ScheduleCounts parse_schedule_counts(std::string_view text) noexcept;
[[nodiscard]] ScheduleCounts schedule_counts(int folder, int tid) noexcept;

/// That cannot be taken from the thread: it is not known, or the thread is a real-time one.
inline constexpr unsigned kNoProcessor = ~0U;
/// The text of /proc/PID/task/TID/stat. Source: proc_pid_stat(5).
[[nodiscard]] unsigned parse_processor(std::string_view text) noexcept;
/// The one that the thread is on, or was last. Three system calls.
[[nodiscard]] unsigned processor_of(int folder, int tid) noexcept;

/// Until when the thread ran, or, of one that does, since when, by its processor's own clock; 0 if
/// the kernel does not tell. The text of /proc/PID/task/TID/sched.
[[nodiscard]] std::uint64_t parse_ran_ns(std::string_view text) noexcept;

/// A descriptor of the file `name` of a thread below `folder`, a descriptor of /proc/self/task; or
/// negative.
[[nodiscard]] long open_task_file(int folder, int tid, std::string_view name) noexcept;
/// What such a file, "sched" and "schedstat", says now. Two system calls.
[[nodiscard]] std::uint64_t ran_ns_of(long sched) noexcept;
[[nodiscard]] ScheduleCounts schedule_counts(long schedstat) noexcept;

/// Whether a thread was stopped by another one, which took its processor when its time had come.
enum class Stopped : std::uint8_t {
    no,
    late,      ///< It went on for more than 20 µs.
    soon,      ///< It went on until a third one took its place.
    gave_way,  ///< It went on until it slept, or let the other one in.
    at_once,   ///< It is where it was, or has not left the kernel since.
};
/// `until_ns`: when it ran last; `since_ns`: when the other one began to, which had waited for a
/// processor for `waited_ns`. By one processor's clock.
[[nodiscard]] constexpr Stopped was_stopped(std::uint64_t until_ns, std::uint64_t since_ns,
                                            std::uint64_t waited_ns) noexcept {
    constexpr std::uint64_t kSoonNs = 20'000;
    const std::uint64_t moment_ns = since_ns - waited_ns;
    if (until_ns < moment_ns || until_ns > since_ns) {
        return Stopped::no;
    }
    if (until_ns - moment_ns > kSoonNs) {
        return Stopped::late;
    }
    if (until_ns != since_ns) {
        return Stopped::soon;
    }
    return waited_ns == 0 ? Stopped::at_once : Stopped::gave_way;
}

/// Its state's letter, such as 'R' or 'Z'; 0 if the thread is gone. Unlike task_state() this is
/// also told of a process that gave up its user.
[[nodiscard]] char state_letter(int folder, int tid) noexcept;

/// What a thread of this process may do: whose it is, and how many seccomp filters hold it.
///
/// The sampling thread compares itself with the program's first thread, and ends when that has
/// less. Capabilities need no comparison: the sampling thread has none (drop_rights()).
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

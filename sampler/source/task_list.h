// The threads of this process, as /proc lists them, and their CPU clocks. By raw system calls.
// Async-signal-safe. Source: proc(5), clock_getcpuclockid(3).
#pragma once

#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::source {

/// A descriptor, or a negative errno.
inline int open_folder(const char* path) noexcept {
    return static_cast<int>(capture::raw_syscall(SYS_open, capture::as_argument(path),
                                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}
/// A descriptor of /proc/self/task, or a negative errno.
inline int open_task_folder() noexcept {
    return open_folder("/proc/self/task");
}

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

/// As for_each_number(), with every thread's id.
template <class Visit>
void for_each_task(int folder, Visit visit) noexcept {
    for_each_number(folder, visit);
}

/// The CPU clock of a thread of this process, for clock_gettime. Source: the kernel's
/// include/linux/posix-timers.h: CPUCLOCK_PERTHREAD_MASK 4, CPUCLOCK_SCHED 2.
inline clockid_t thread_clock(int tid) noexcept {
    return static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3U | 6U);
}

/// CPU time of a thread of this process; 0 if it is gone.
inline std::uint64_t cpu_ns_of(int tid) noexcept {
    return capture::read_kernel_clock_ns(thread_clock(tid));
}

}  // namespace sample::source

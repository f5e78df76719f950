// What another thread does right now: runs or waits for a processor, or sleeps, and
// where. Source: proc(5), /proc/PID/task/TID/syscall and schedstat.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sample::source {

/// "TID/name" below `folder`, a descriptor of /proc/self/task, read once into `buffer`; empty if it
/// cannot be.
[[nodiscard]] std::string_view read_task_file(int folder, int tid, std::string_view name,
                                              std::span<char> buffer) noexcept;

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

/// How long the thread has waited for a processor since it began; 0 if the kernel does not tell.
[[nodiscard]] std::uint64_t processor_wait_ns(int folder, int tid) noexcept;
/// The text of /proc/PID/task/TID/schedstat.
[[nodiscard]] std::uint64_t parse_processor_wait(std::string_view text) noexcept;

/// Its state's letter, such as 'R' or 'Z'; 0 if the thread is gone. Unlike task_state() this is
/// also told of a process that gave up its user.
[[nodiscard]] char state_letter(int folder, int tid) noexcept;

}  // namespace sample::source

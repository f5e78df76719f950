// A thread that libc does not know: for work of ours inside the program.
//
// It has its own stack and its own, empty, table of descriptors, so that what it opens never takes
// a number that the program counts on; every signal is blocked in it, so none of the program's ends
// up there. It shares the thread-local storage of whoever started it and so may call nothing that
// uses it: no libc, only raw system calls.
// Source: clone(2), close_range(2).
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>

namespace sample::source {

/// How it is made. Source: clone(2).
inline constexpr long kRawThreadFlags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD |
                                        CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

/// Starts `run(argument)` on `stack_bytes` of stack. The thread ends, and its stack goes, when
/// `run` returns; what that returns is the process's status where no other thread is left. A forked
/// child has neither. `tid` is its id until the kernel has ended it, then
/// 0. Its id, or a negative errno. Not async-signal-safe.
int start_raw_thread(int (*run)(void*) noexcept, void* argument, std::size_t stack_bytes,
                     std::atomic<int>& tid) noexcept;

}  // namespace sample::source

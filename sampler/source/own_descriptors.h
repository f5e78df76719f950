// Work that opens files or sockets inside the program, where the numbers that it takes are
// nobody's.
//
// Descriptors are a process's: one that the agent opens and closes takes for that moment a number
// that another thread's open() would get, and what that thread's dup2() puts there is closed by us.
// So the work is done by a thread of ours with a copy of the table: on the caller's stack and with
// its thread-local storage, while the caller waits. The wait is a futex's, not that of CLONE_VFORK,
// which no stop of the process reaches: a SIGSTOP that met the thread would be complete only when
// the caller stopped, too, and whoever waits for the stop would wait for good.
//
// All signals are blocked in the thread, so that no sample is taken there; what it uses is the
// process's time. To the kernel it is the process: getpid(2), /proc/self and what a socket says of
// its peer are as ever.
//
// It costs some 50 us. Async-signal-safe. Source: clone(2); Linux kernel/fork.c,
// wait_for_vfork_done().
#pragma once

#include <sched.h>

namespace sample::source {

/// How it is made. Source: clone(2).
inline constexpr long kApartFlags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD |
                                    CLONE_SYSVSEM | CLONE_UNTRACED | CLONE_PARENT_SETTID |
                                    CLONE_CHILD_CLEARTID;

/// Returns when the thread is none of the process's any more. Where the kernel makes no thread for
/// this process (unshare(2), CLONE_NEWPID) the work is done by the caller. False: there is no room
/// for one, and nothing was done.
bool call_with_own_descriptors(void (*work)(void*) noexcept, void* argument) noexcept;

/// Closes the calling thread's descriptors from `first` on. To be called where they are its own, in
/// another process or a table of its own. Async-signal-safe.
void close_descriptors(int first) noexcept;

/// Whether that is the id of such a thread, and of none of the program's. Async-signal-safe.
[[nodiscard]] bool is_apart(int tid) noexcept;
/// In a forked child: they are the parent's.
void forget_apart() noexcept;

/// As call_with_own_descriptors(), of a function object.
template <class Work>
bool with_own_descriptors(Work work) noexcept {
    return call_with_own_descriptors([](void* object) noexcept { (*static_cast<Work*>(object))(); },
                                     &work);
}

}  // namespace sample::source

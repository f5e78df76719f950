// Work that opens files or sockets inside the program, where the numbers that it takes are
// nobody's.
//
// Descriptors are a process's: one that the agent opens and closes takes for that moment a number
// that another thread's open() would get, and what that thread's dup2() puts there is closed by us.
// So the work is done by a process of ours that shares this one's memory and has a copy of its
// table: made as vfork(2) does it, on the caller's stack, while the caller waits. It is no child
// that wait(2) knows, nobody traces it, all signals are blocked in it, and no event of the
// program's is inherited by it (perf_event_open(2), inherit_thread).
//
// There getpid(2), /proc/self/task and what a socket says of its peer are of that process: the
// program is its parent. A new process costs some 50 us. Async-signal-safe. Source: clone(2),
// wait(2).
#pragma once

#include <sched.h>

namespace sample::source {

/// How it is made. Source: clone(2).
inline constexpr long kApartFlags = CLONE_VM | CLONE_VFORK | CLONE_UNTRACED;

/// False: no process can be made, and nothing was done.
bool call_with_own_descriptors(void (*work)(void*) noexcept, void* argument) noexcept;

/// The same of a function object.
template <class Work>
bool with_own_descriptors(Work work) noexcept {
    return call_with_own_descriptors([](void* object) noexcept { (*static_cast<Work*>(object))(); },
                                     &work);
}

}  // namespace sample::source

// What the program says by sample/trace.h, as plug-ins are told of it.
//
// A zone, and a counter, has a marker of its name; a zone whose name is made at run time is
// Profiler.Default with that name. Allocations that the program says are GC.Alloc. The program is
// listened to only while somebody is registered, for what they are registered for; then it is asked
// what it has defined before.
#pragma once

namespace sample::unity {

/// After every change of what is registered, and once at the start. Without the lock.
void listen_as_registered() noexcept;

}  // namespace sample::unity

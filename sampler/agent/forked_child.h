// A process that shares no memory with the one that made it: it joins the session as a new one.
#pragma once

namespace sample::agent {

/// Called first thing in such a child, by the thread that made it. Async-signal-safe: also a child
/// of _Fork(3), whose parent's other threads may have held any lock.
void in_forked_child() noexcept;

}  // namespace sample::agent

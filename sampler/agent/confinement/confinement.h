// A program that confines itself, and what that forbids us.
//
// The handler, a thread's end, an exec and a joining child make system calls of their own. A
// seccomp filter that does not know them would end the program by our doing. So each filter is
// asked in advance what it says of them (seccomp_filter.h). Without the handler's
// calls sampling stops before the filter is set; without those of a joining process the children of
// this one are left alone, as a filter is inherited by forks and execs. Strict mode allows none of
// them, and a thread that may not read the time stamp counter can take no sample. A thread whose
// system calls become signals for the program's handler (PR_SET_SYSCALL_USER_DISPATCH) cannot even
// return from ours. A filter that is
// not known to be harmless, as it looks at what only the run tells, is taken for harmful.
//
// Source: seccomp(2), prctl(2), Linux kernel/seccomp.c.
#pragma once

#include "sampler/agent/session/arming.h"
#include "sampler/agent/wrap/numbered_call.h"

#include <cstdint>

namespace sample::agent {

/// Lives around a call of prctl or seccomp(2): does before it what its success will make necessary.
/// Of a call that is seen to fail nothing remains. All other calls pass. Not async-signal-safe.
class Confining {
public:
    explicit Confining(const NumberedCall& call) noexcept;
    /// The call is over.
    void done(bool succeeded) const noexcept;

private:
    static void prepare_for_dispatch(long mode) noexcept;
    void prepare_for_strict_mode() noexcept;
    void prepare_for_filter(long where) noexcept;
    bool confines_ = false;
    bool leaves_children_ = false;
    bool may_look_ = false;
    long process_ = 0;  ///< Whose next image starts without us; kEveryImage: this one's and all.
};

/// Remembers who we are. In the constructor, and in a forked child. Not async-signal-safe.
void set_up_confinement() noexcept;

/// False: a filter forbids what joining a session, or arming a thread, needs. Async-signal-safe.
[[nodiscard]] bool may_join() noexcept;

/// Whether this image has set a filter, whatever it forbids. Async-signal-safe.
[[nodiscard]] bool is_confined() noexcept;

/// Whether the program's next image is to start without us, as it could not join.
/// Async-signal-safe.
[[nodiscard]] bool must_leave_environment() noexcept;

/// The calling process is about to be traced by its parent: its sampling ends, and its next image
/// starts without us. Async-signal-safe.
void before_being_traced() noexcept;

/// Whether the calling process is traced by another one of the session. Async-signal-safe.
[[nodiscard]] bool is_traced_in_session() noexcept;

/// Ends the sampling of this process for good; the recording says why. Async-signal-safe.
void stop_sampling(capture::Confinement why) noexcept;

}  // namespace sample::agent

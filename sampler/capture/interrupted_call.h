// A sample that ends where the kernel restarts a system call, while another signal waits.
//
// A signal for the program makes a call that waits, a read() of a pipe, return inside the kernel.
// The first handler to be called then decides whether the call is made again (SA_RESTART) or gives
// EINTR. A sample on the way out of the kernel comes first, and has no opinion: its handler
// restarts. The program's handler would come next, in front of the call that begins anew, and who
// meant to be interrupted would wait for ever.
//
// The other way round, calls such as poll() and nanosleep() end with EINTR whatever the handler
// says. A program that has no handler at all does not expect that. There nobody else can have ended
// the call, and it is made again: as a sample is only sent to a thread that runs, its timeout began
// a moment ago. A program with handlers gets its EINTR: it could have been meant by one of them.
//
// x86-64: the system call instruction leaves its return address and flags in rcx and r11, so a
// restarted one is told from one that is yet to be made. Not where another run of the same
// instruction was the last to write them: then the answer may be EINTR before the call, and is
// given for none that cannot wait. Source: Linux arch/x86/kernel/signal.c, handle_signal;
// signal(7), Interruption of system calls.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace sample::capture {

/// A signal's action as the kernel keeps it, which differs from libc's. Source: rt_sigaction(2), C
/// library/kernel differences.
struct KernelAction {
    void (*handler)(int);
    std::uint64_t flags;
    void (*restorer)();
    std::uint64_t mask;
};

/// Whether a signal has interrupted the thread on its way out of a system call. Async-signal-safe.
[[nodiscard]] bool is_behind_call(const ucontext_t& context) noexcept;

/// At the end of a handler that interrupted `context`: gives EINTR in the place of the restart, if
/// the first of the waiting signals wants that; a call that the kernel never restarts it makes
/// again, if nobody but us may have ended it and the thread `was_awake` when the sample was sent:
/// one that a timer wakes again and again would never sleep to the end. Async-signal-safe; costs
/// nothing elsewhere.
void answer_interrupted_call(ucontext_t& context, bool was_awake) noexcept;

/// From now on none is given: a filter forbids to ask who waits. Async-signal-safe.
void leave_calls_restarted() noexcept;
/// Whether rt_sigpending(2) may be asked. Async-signal-safe.
[[nodiscard]] bool may_ask_who_waits() noexcept;

}  // namespace sample::capture

// A sample that ends where the kernel restarts a system call, while another signal waits.
//
// A signal for the program makes a call that waits, a read() of a pipe, return inside the kernel.
// The first handler to be called then decides whether the call is made again (SA_RESTART) or gives
// EINTR. A sample on the way out of the kernel comes first, and has no opinion: its handler
// restarts. The program's handler would come next, in front of the call that begins anew, and who
// meant to be interrupted would wait for ever.
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

/// At the end of a handler that interrupted `context`: gives EINTR in the place of the restart, if
/// the first of the waiting signals wants that. Async-signal-safe; costs nothing elsewhere.
void answer_interrupted_call(ucontext_t& context) noexcept;

/// From now on none is given: a filter forbids to ask who waits. Async-signal-safe.
void leave_calls_restarted() noexcept;
/// Whether rt_sigpending(2) may be asked. Async-signal-safe.
[[nodiscard]] bool may_ask_who_waits() noexcept;

}  // namespace sample::capture

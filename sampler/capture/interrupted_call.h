// A sample that ends where the kernel restarts a system call, while another signal waits.
//
// A signal for the program makes a call that waits, a read() of a pipe, return inside the kernel.
// The first handler to be called then decides whether the call is made again (SA_RESTART) or gives
// EINTR. A sample on the way out of the kernel comes first, and has no opinion: its handler
// restarts. The program's handler would come next, in front of the call that begins anew, and who
// meant to be interrupted would wait for ever.
//
// The other way round, calls such as poll() and nanosleep() end with EINTR whatever the handler
// says. One that a sample has ended is made again: as a sample is only sent to a thread that runs,
// or is about to sleep, its timeout began a moment ago. Not so where a handler of the program may
// have ended it: one that comes next, one that has returned there (answer_for_handler), or any
// where the kernel calls one of them itself.
//
// x86-64: the system call instruction leaves its return address and flags in rcx and r11, so a
// restarted one is told from one that is yet to be made. Not where another run of the same
// instruction was the last to write them: then the answer may be EINTR before the call, and is
// given for none that cannot wait. Source: Linux arch/x86/kernel/signal.c, handle_signal;
// signal(7), Interruption of system calls.
#pragma once

#include <ucontext.h>

#include <csignal>
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
/// again, if nobody but us may have ended it and the call `has_just_begun`: one that a timer ends
/// again and again would never sleep to the end. Async-signal-safe; costs nothing elsewhere.
void answer_interrupted_call(ucontext_t& context, bool has_just_begun) noexcept;

/// The program's handlers are entered by `relay`, which calls answer_for_handler() first; one of
/// another address may come and go unseen. Async-signal-safe.
void set_relay(void (*relay)(int, siginfo_t*, void*)) noexcept;
/// A handler of the program begins, whose action has `flags`, and will return to `context`. Behind
/// a call, that is the one that its signal has ended: rcx says so from now on, as the program
/// cannot know what it held. Before a call that is about to be made again, it has ended that, or
/// not, as the kernel would have decided. Async-signal-safe.
void answer_for_handler(ucontext_t& context, std::uint64_t flags) noexcept;

/// Where libc's code lies, whose calls are written in more ways than are believed elsewhere.
void set_libc_code(std::uint64_t begin, std::uint64_t bytes) noexcept;

/// Whether the calling thread, whose FS is libc's, waits in a call whose EINTR is to stay. A signal
/// that nobody sees as pending may have meant it. Async-signal-safe.
void leave_eintr(bool leave) noexcept;

/// From now on none is given: a filter forbids to ask who waits. Async-signal-safe.
void leave_calls_restarted() noexcept;
/// Whether rt_sigpending(2) may be asked. Async-signal-safe.
[[nodiscard]] bool may_ask_who_waits() noexcept;

}  // namespace sample::capture

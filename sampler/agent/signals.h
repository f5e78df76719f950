// Our signal, and the program's view of it.
//
// The kernel's disposition and mask of the sampling signal are ours: the handler stays installed
// and the signal stays unblocked. What the program sets for it is kept here and shown back to it; a
// signal of that number which is not a sample is treated as the program asked for. See
// wrap_signals.cpp for the calls.
#pragma once

#include <csignal>

namespace sample::agent {

/// Installs the handler for `signal` and unblocks it in the calling thread. What was set before
/// becomes the program's view. False: the kernel refused.
bool take_signal(int signal) noexcept;

/// The signal that samples come by; 0: none.
[[nodiscard]] int own_signal() noexcept;

/// Capture's ForeignSignal: a signal of our number that is not a sample. Async-signal-safe.
void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept;

/// The program's view becomes real, in the calling thread; there is no signal of ours from then on.
/// Async-signal-safe.
void give_signal_back() noexcept;

/// Before an exec: what the program set becomes real, as the new image inherits it.
/// Async-signal-safe.
void show_program_dispositions() noexcept;
/// After a failed exec. Async-signal-safe.
void restore_own_dispositions() noexcept;
/// The kernel drops our signal from here on. Async-signal-safe.
void ignore_own_signal() noexcept;

/// Whether the calling thread's program-visible mask blocks our signal; a new thread inherits it.
[[nodiscard]] bool program_blocks_own_signal() noexcept;
void set_program_blocks_own_signal(bool blocked) noexcept;

}  // namespace sample::agent

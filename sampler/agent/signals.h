// Our signal, and the program's view of it.
//
// The kernel's disposition and mask of the sampling signal are ours: the handler stays installed,
// always for the alternate stack (alternate_stack.h), and the signal stays unblocked. What the
// program sets for it is kept here and shown back to it; a signal of that number which is not a
// sample is treated as the program asked for. See wrap_signals.cpp for the calls.
#pragma once

#include <csignal>

namespace sample::agent {

/// Installs the handler for `signal` and unblocks it in the calling thread. What was set before
/// becomes the program's view. False: the kernel refused.
bool take_signal(int signal) noexcept;

/// The signal that samples come by; 0: none.
[[nodiscard]] int own_signal() noexcept;

/// False in a vfork child, and in one made past libc's fork: the view here is its parent's.
/// Async-signal-safe.
[[nodiscard]] bool is_owner() noexcept;
/// In a forked child, which has a view of its own. Async-signal-safe.
void signals_after_fork() noexcept;

/// The program sets an action of our signal. Async-signal-safe.
void set_own_action(const struct sigaction& action) noexcept;
/// The calling thread jumps somewhere else, taking the mask with it that was saved there: if it
/// leaves a handler of our signal, the program's view is as before that. Async-signal-safe.
void note_jump() noexcept;

/// Capture's ForeignSignal: a signal of our number that is not a sample. Async-signal-safe.
void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept;

/// The program's view becomes real, in the calling thread; there is no signal of ours from then on.
/// Async-signal-safe.
void give_signal_back() noexcept;

/// What show_program_dispositions() changed.
struct ShownDispositions {
    bool is_ignored = false;
    bool is_blocked = false;
    bool is_unblocked = false;
};
/// Before an exec: what the program set becomes real, as the new image inherits it. Also in a vfork
/// child, for itself alone, unless it has set something else meanwhile. Async-signal-safe.
[[nodiscard]] ShownDispositions show_program_dispositions() noexcept;
/// After a failed exec. Async-signal-safe.
void restore_own_dispositions(ShownDispositions shown) noexcept;
/// A process that shares its parent's memory, and view, has set a mask of its own.
/// Async-signal-safe.
void note_mask_of_child() noexcept;
/// The kernel drops our signal from here on. Async-signal-safe.
void ignore_own_signal() noexcept;

/// Whether the calling thread's program-visible mask blocks our signal; a new thread inherits it.
[[nodiscard]] bool program_blocks_own_signal() noexcept;
void set_program_blocks_own_signal(bool blocked) noexcept;

/// In the kernel's mask of the calling thread. Async-signal-safe.
void unblock_own_signal() noexcept;
void block_own_signal() noexcept;
/// From now on no sample is taken of the calling thread: our signal stays blocked in it.
/// Async-signal-safe.
void leave_unsampled() noexcept;
[[nodiscard]] bool is_left_unsampled() noexcept;

/// Ends the process by `signal`, as the kernel would have without us. Async-signal-safe.
void die_by(int signal) noexcept;

}  // namespace sample::agent

// The calling thread's alternate signal stack: ours for the kernel, its own for the program.
// See capture/signal_stacks.h.
#pragma once

#include "sampler/capture/signal_stacks.h"

#include <csignal>
#include <cstdint>

namespace sample::agent {

/// Gives the calling thread a stack of ours, if it has none. False: there is no memory for one. A
/// thread that runs on an alternate stack past our knowledge just now keeps that. From the first
/// call on the program's handlers are relayed. Loaded late, the agent leaves the thread the one
/// that it has. Async-signal-safe.
[[nodiscard]] bool take_alternate_stack() noexcept;

/// Whether new threads need one: there is a session, or may be one soon.
[[nodiscard]] bool gives_alternate_stacks() noexcept;
void stop_giving_alternate_stacks() noexcept;

/// What the program set becomes real: the calling thread ends, or is sampled no more.
/// Async-signal-safe.
void give_alternate_stack_back() noexcept;

/// In a forked child. Async-signal-safe.
void alternate_stacks_after_fork() noexcept;

/// Makes room ahead for threads that nobody sees beginning: their handler cannot.
void prepare_alternate_stacks() noexcept;

/// sigaltstack(2), as it would answer without us to who calls it at the stack pointer `sp`: 0 or a
/// negative errno. Async-signal-safe.
long program_sigaltstack(const stack_t* set, stack_t* old, std::uint64_t sp) noexcept;

inline constexpr int kAutodisarm = static_cast<int>(1U << 31U);  // SS_AUTODISARM

/// Whether `sp` lies within `view`, as the kernel reckons. Source: kernel, __on_sig_stack.
[[nodiscard]] bool lies_on(const stack_t& view, std::uint64_t sp) noexcept;
/// Whether a handler that is entered at `sp` stays on `view`: one with SS_AUTODISARM is left.
/// Source: kernel, on_sig_stack.
[[nodiscard]] bool is_on(const stack_t& view, std::uint64_t sp) noexcept;

/// What the kernel is told so that the program sees `view`, where it holds `kernels` now. All
/// signals are blocked.
[[nodiscard]] stack_t show_view(capture::SignalStack& own, const stack_t& view,
                                const stack_t& kernels) noexcept;

}  // namespace sample::agent

// Calls that move data are not cut short by a sample.
//
// write(2) of much into a pipe ends with what it has moved when a signal handler has run, whatever
// SA_RESTART says, and reads and sockets likewise. The source `thread` sends such a signal to
// threads that run or are about to sleep. So the functions of libc that move data say by a word of
// their thread's own that they do; the sampling thread leaves such a thread alone and leaves word
// that a sample is due, which the thread takes when the call is over. What it stands for is exact
// all the same: all the looks that met the call, by the stack that called (weight.h).
//
// The word is the address of the call's frame, so that one that was left by a jump is told from one
// that goes on: what begins further out has outlived it. Both sides change the word by one
// exchange; a signal that was sent before the call began is waited for.
#pragma once

#include "sampler/capture/thread_state.h"

#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace sample::capture {

/// From now on (or no longer) there is somebody who asks. Async-signal-safe.
void watch_transfers(bool wanted) noexcept;

/// The calling thread begins to move data; `frame`: an address in the frame of who calls. False:
/// nobody asks, or it does so already; then end_transfer() is not to be called. Async-signal-safe.
[[nodiscard]] bool begin_transfer(std::uintptr_t frame) noexcept;
/// True: a sample of the thread is due. Async-signal-safe.
[[nodiscard]] bool end_transfer() noexcept;

/// rt_tgsigqueueinfo(2). The stack of the sample that comes of it is as if `function` had just been
/// called where this is: the call is over, and what it took is its own. Async-signal-safe.
long queue_sample_of(long process, long thread, long signal, const siginfo_t* info,
                     std::uintptr_t function) noexcept;
/// That function, in the handler; 0: the sample is of what was interrupted.
[[nodiscard]] std::uintptr_t function_of_sample(const ucontext_t& context) noexcept;

/// The state of the thread `tid`, as far as it is known; `last`: what was found before, or null.
/// Async-signal-safe.
[[nodiscard]] ThreadState* find_thread_state(ThreadState* last, std::uint32_t tid) noexcept;

enum class Interruption : std::uint8_t {
    comes,     ///< The thread expects a signal now: it is to be sent.
    is_owed,   ///< Newly: the thread will take the sample by itself.
    was_owed,  ///< It has not yet, or the last signal has not come yet: one more would be lost.
};
/// The sampling thread looks for the state of the thread `tid`, and may send it a signal, until it
/// ends this. One that had no state yet waits for that with its first transfer. Async-signal-safe.
void begin_asking(std::uint32_t tid) noexcept;
void end_asking() noexcept;
/// Until nobody is about to send the calling thread a signal; what was sent has come then. False:
/// somebody is still. Async-signal-safe.
[[nodiscard]] bool await_signal_on_its_way() noexcept;
/// The sampling thread is about to interrupt the thread. Async-signal-safe.
[[nodiscard]] Interruption ask_to_interrupt(ThreadState& thread) noexcept;
/// The signal that was to come could not be sent. Async-signal-safe.
void note_unsent(ThreadState& thread) noexcept;
/// It does not keep its word: its call was left, or takes very long. Async-signal-safe.
void interrupt_all_the_same(ThreadState& thread) noexcept;

/// In the handler: the signal has come.
void note_interruption() noexcept;
/// Whether the sampling thread has sent the calling thread a signal, or may have, as nothing is
/// known of the thread yet.
[[nodiscard]] bool may_be_interrupted() noexcept;

}  // namespace sample::capture

// The program's handlers, run where and as they would have run without us.
//
// The kernel's alternate stack is ours (alternate_stack.h), so the kernel puts the frames of
// handlers with SA_ONSTACK there; and no mask of the kernel's holds our signal, whatever the
// program blocks. So in their place a relay is installed, which runs with all signals blocked,
// moves the frame to where the kernel would have put it, writes into it what the program blocks,
// and enters the program's handler by rt_sigreturn(2): one system call sets all registers, the mask
// and the alternate stack at once, and every program that has handlers may make it. The handler
// returns through the frame, by a way of ours that takes note of what it has left there; or it
// leaves by a jump, and nothing here remembers it.
#pragma once

#include "sampler/agent/signals/signals.h"

#include <csignal>
#include <cstdint>

namespace sample::agent {

/// From now on the program may install handlers past our wrappers, too. Async-signal-safe.
void note_handlers() noexcept;

/// libc has set a handler of `signal`: its way back from there is that of all.
/// Async-signal-safe.
void note_way_back(int signal) noexcept;

/// From now on handlers are relayed, those that are installed already as well.
void begin_relaying() noexcept;
/// The kernel calls the program's handlers itself again, for good. There is no session any more.
void end_relaying() noexcept;

/// sigaction(2) as the program sees it, of a signal from 1 to 64; `real` is the call itself.
/// Async-signal-safe.
int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old,
                      ActionCall* real) noexcept;

using SignalCall = sighandler_t(int, sighandler_t);
/// signal(2) as the program sees it; `real` is libc's, which sets the action past all wrappers.
sighandler_t program_signal(int signal, sighandler_t handler, SignalCall* real) noexcept;

/// In our own handler: leaves it for the handler of `action`, where that would run without us, with
/// its mask, in which our signal is never. The handler's return is the signal's.
[[noreturn]] void run_programs_handler(int signal, ucontext_t& words,
                                       const struct sigaction& action) noexcept;

/// While it lives the function whose frame is `frame` makes a call that waits under the mask `set`;
/// null: under the thread's own. The kernel's frame does not tell that mask. `opens_own`: under
/// that mask the program is to see our signal, which its own blocks.
class TemporaryMask {
public:
    TemporaryMask(const sigset_t* set, const void* frame, bool opens_own) noexcept;
    ~TemporaryMask();
    TemporaryMask(const TemporaryMask&) = delete;
    TemporaryMask& operator=(const TemporaryMask&) = delete;

    /// Before the call is made once more: a handler that has met it may have forgotten the note.
    void note_again() const noexcept;
    /// The calling thread jumps: out of the call, or inside of a handler that has ended it.
    static void forget() noexcept;

private:
    const sigset_t* set_;
    const void* frame_;
    bool opens_own_;
};

/// Where a signal has met a call that waits under a mask which opens ours.
enum class InOpenWait : std::uint8_t {
    no,
    beside_the_call,  ///< It has not begun, or is over.
    in_the_call,      ///< Which the signal has cut short.
};
[[nodiscard]] InOpenWait in_open_wait(const ucontext_t& words) noexcept;

}  // namespace sample::agent

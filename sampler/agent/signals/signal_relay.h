// The program's handlers that asked for the alternate stack (SA_ONSTACK), run where they would have
// run without us.
//
// The kernel's alternate stack is ours (alternate_stack.h), so the kernel puts their frames there.
// In their place a relay is installed, which runs with all signals blocked, moves the frame to
// where the kernel would have put it, and enters the program's handler by rt_sigreturn(2): one
// system call sets all registers, the mask and the alternate stack at once, and every program that
// has handlers may make it. The handler returns through the moved frame, or leaves it by a jump;
// nothing here remembers it.
#pragma once

#include "sampler/agent/signals/signals.h"

#include <csignal>
#include <cstdint>

namespace sample::agent {

/// From now on the program may install handlers past our wrappers, too. Async-signal-safe.
void note_handlers() noexcept;

/// From now on handlers with SA_ONSTACK are relayed, those that are installed already as well.
void begin_relaying() noexcept;
/// The kernel calls the program's handlers itself again, for good. There is no session any more.
void end_relaying() noexcept;

/// sigaction(2) as the program sees it, of a signal from 1 to 64; `real` is the call itself.
/// Async-signal-safe.
int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old,
                      ActionCall* real) noexcept;

/// What the program set, where libc tells `shown` of `signal`.
[[nodiscard]] sighandler_t program_handler(int signal, sighandler_t shown) noexcept;

/// What follows a handler of the program, on its stack, with the mask that the handler left.
struct Afterwards {
    void (*run)(bool) noexcept;
    bool argument;
};
/// In our own handler: leaves it for the handler of `action`, where that would run without us, with
/// its mask, in which our signal is never. The handler's return is the signal's.
[[noreturn]] void run_programs_handler(int signal, void* context, const struct sigaction& action,
                                       const Afterwards& afterwards) noexcept;

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
[[nodiscard]] InOpenWait in_open_wait(const void* context) noexcept;

}  // namespace sample::agent

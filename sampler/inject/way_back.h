// The way back of a thread that makes a system call of ours: a signal frame on its own stack, below
// all that it uses, with which libc's end of a signal handler makes its registers what they were.
//
// While somebody holds the thread it is not needed. But whoever does can be killed at any time, and
// the kernel then lets the thread go on with the registers that it happens to have: behind the
// call, with the frame where a function's return address is.
//
// Source: Linux arch/x86/kernel/signal_64.c, rt_sigreturn, and arch/x86/kernel/fpu/signal.c.
#pragma once

#include "core/result.h"

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

namespace sample::inject {

/// Writes the frame into the stack of `tid`, which this thread traces and has stopped: it restores
/// `registers`, what vector registers it has now, and `signal_mask`. Returns where the frame is,
/// for the stack pointer; `signal_return` is where libc's handlers return to.
/// Errors: unsupported (its stack has no room, or cannot be written to).
Result<std::uint64_t> leave_way_back(pid_t tid, const user_regs_struct& registers,
                                     std::uint64_t signal_mask, std::uint64_t signal_return);

}  // namespace sample::inject

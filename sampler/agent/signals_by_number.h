// The system calls of signals, by their numbers: what syscall(2) is given. As signal_calls.h, but
// with the kernel's structures, and a pointer that leads nowhere gives EFAULT.
#pragma once

#include "sampler/agent/numbered_call.h"

namespace sample::agent {

/// What to do with such a call if its number is one of these: rt_sigaction, rt_sigprocmask,
/// rt_sigpending, rt_sigtimedwait, rt_sigsuspend, sigaltstack, signalfd, signalfd4, ppoll,
/// pselect6, io_pgetevents, epoll_pwait, epoll_pwait2.
long make_signal_call(const NumberedCall& call) noexcept;

}  // namespace sample::agent

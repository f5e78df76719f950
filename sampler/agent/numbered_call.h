// A system call by its number: what syscall(2) is given.
#pragma once

namespace sample::agent {

struct NumberedCall {
    long number = 0;
    long a = 0;
    long b = 0;
    long c = 0;
    long d = 0;
    long e = 0;
    long f = 0;
};

/// By libc's syscall(), past our wrapper of it, which sets errno.
long make(const NumberedCall& call) noexcept;

/// prctl, seccomp, or what changes the caller's rights, see wrap_seccomp.cpp.
long confine_by_number(const NumberedCall& call) noexcept;

/// fork, clone or clone3 with memory and a stack of the child's own, see wrap_fork.cpp.
long fork_by_number(const NumberedCall& call) noexcept;

}  // namespace sample::agent

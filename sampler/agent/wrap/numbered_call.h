// A system call by its number: what syscall(2) is given. What is wrapped by name is wrapped by
// number too; numbered_calls.cpp has the table.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// prctl, seccomp, or what changes the caller's rights, see wrap/rights.cpp.
long confine_by_number(const NumberedCall& call) noexcept;

/// ptrace, wait4 and waitid, see wrap/ptrace.cpp.
long trace_by_number(const NumberedCall& call) noexcept;
long wait4_by_number(const NumberedCall& call) noexcept;
long waitid_by_number(const NumberedCall& call) noexcept;

/// fork, clone or clone3 with memory and a stack of the child's own, see wrap/processes.cpp.
long fork_by_number(const NumberedCall& call) noexcept;

/// What numbers are looked at; all others pass.
inline constexpr std::size_t kNumbers = 512;
/// The first routes lead to calls that may return twice.
inline constexpr std::uint8_t kLastThatReturnsTwice = 4;

}  // namespace sample::agent

// What a seccomp filter says of a system call, found out without setting it.
//
// A filter is a classic BPF program: a function of the call's number, architecture, arguments and
// the address that it is made from, and of nothing else. So it can be run here, on calls that
// nobody makes. What is not known of a call is marked as such; a filter that looks at it says
// nothing.
//
// Async-signal-safe. Source: seccomp(2), linux/filter.h, Linux kernel/seccomp.c
// (seccomp_check_filter, seccomp_run_filters), net/core/filter.c (bpf_convert_filter).
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sample::agent {

struct FilteredCall {
    long number = 0;
    std::array<long, 6> arguments{};
    std::uint8_t known = 0;  ///< A bit for each argument whose value is the real one.
};

/// What the filter returns for the call. Nothing: it looks at something unknown, or the kernel
/// would not take it. At most one step an instruction.
[[nodiscard]] std::optional<std::uint32_t> run_filter(std::span<const sock_filter> filter,
                                                      const FilteredCall& call) noexcept;

/// A copy of a filter that the program is about to set. It may lie at any address.
class FilterCopy {
public:
    /// `where`: the call's argument, a sock_fprog's address.
    explicit FilterCopy(long where) noexcept;
    ~FilterCopy();
    FilterCopy(const FilterCopy&) = delete;
    FilterCopy& operator=(const FilterCopy&) = delete;

    /// There is nothing at that address that the kernel would take.
    [[nodiscard]] bool is_refused() const noexcept { return refused_; }
    /// Empty: it could not be copied.
    [[nodiscard]] std::span<const sock_filter> filter() const noexcept { return {filter_, size_}; }

private:
    sock_filter* filter_ = nullptr;
    std::size_t size_ = 0;
    std::size_t mapped_bytes_ = 0;
    bool refused_ = false;
};

// The system calls that the agent makes, as a filter sees them: needed_calls.cpp.

/// What the calls are for.
enum class Needs : std::uint8_t {
    looking,          ///< At the next filter.
    sampling,         ///< The handler, a thread's end, the gate of an exec, an exit.
    answering,        ///< To tell a call that a signal ends from one that goes on.
    pacing,           ///< A timer of the source `timer` is set to another period.
    growing,          ///< More room for samples than there is at first.
    sampling_thread,  ///< That thread's start, work and end.
    thread_base,      ///< To ask for it, where no instruction tells it; else it is believed.
    resting,          ///< That it waits for the program to run; else it goes on looking.
    joining           ///< What a new process of the session or a new thread's event needs.
};

/// Whether all calls answer under the filter as they do without it. Async-signal-safe.
[[nodiscard]] bool permits(std::span<const sock_filter> filter, Needs needs) noexcept;

}  // namespace sample::agent

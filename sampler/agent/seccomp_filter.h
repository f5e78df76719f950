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

}  // namespace sample::agent

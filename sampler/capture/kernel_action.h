// A signal's action as the kernel keeps it, which differs from libc's. Source: rt_sigaction(2), C
// library/kernel differences.
#pragma once

#include <cstdint>

namespace sample::capture {

struct KernelAction {
    void (*handler)(int);
    std::uint64_t flags;
    void (*restorer)();
    std::uint64_t mask;
};

}  // namespace sample::capture

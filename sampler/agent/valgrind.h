// Whether this program runs on the processor that valgrind simulates: there our signals would end
// it, and its stacks are not what the kernel sees.
#pragma once

#include <array>
#include <cstdint>

namespace sample::agent {

/// Elsewhere these instructions do nothing. Async-signal-safe.
/// Source: valgrind.h, RUNNING_ON_VALGRIND and the client request of amd64.
inline bool runs_in_valgrind() noexcept {
    constexpr std::uint64_t kRunningOnValgrind = 0x1001;
    const std::array<std::uint64_t, 6> request{kRunningOnValgrind};
    std::uint64_t answer = 0;
    asm volatile(
        "rolq $3, %%rdi\n\t"
        "rolq $13, %%rdi\n\t"
        "rolq $61, %%rdi\n\t"
        "rolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "+d"(answer)
        : "a"(request.data())
        : "cc", "memory");
    return answer != 0;
}

}  // namespace sample::agent

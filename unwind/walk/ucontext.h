// The registers that a signal interrupted: from a handler's third argument, and from the copy of it
// that lies on a stack. Async-signal-safe. Source: Linux uapi/asm/sigcontext.h, ucontext.h.
#pragma once

#include "unwind/walk/registers.h"

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind {

/// DWARF numbers in the order of struct sigcontext, which begins 40 bytes into the ucontext:
/// r8–r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
inline constexpr std::array<std::uint8_t, Registers::kCount> kSigcontextOrder{
    8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
inline constexpr std::uint64_t kSigcontextOffset = 40;

[[nodiscard]] inline Registers registers_of(const ucontext_t& context) noexcept {
    Registers registers;
    for (std::size_t i = 0; i < kSigcontextOrder.size(); ++i) {
        registers.value[kSigcontextOrder[i]] =
            static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]);
    }
    return registers;
}

}  // namespace sample::unwind

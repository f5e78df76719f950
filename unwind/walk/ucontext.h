// The registers that a signal interrupted, from its handler's third argument. Async-signal-safe.
// Source: Linux uapi/asm/sigcontext.h, ucontext.h.
#pragma once

#include "unwind/walk/registers.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace sample::unwind {

// The same registers as a signal frame on a native stack has them.
inline constexpr std::uint64_t kSigcontextOffset = arch::Native::kSigcontextOffset;
inline constexpr auto kSigcontextOrder = arch::Native::kSigcontextOrder;

[[nodiscard]] inline Registers registers_of(const ucontext_t& context) noexcept {
    Registers registers;
#if defined(__x86_64__)
    for (std::size_t i = 0; i < kSigcontextOrder.size(); ++i) {
        registers.value[kSigcontextOrder[i]] =
            static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]);
    }
#else
    for (std::size_t i = 0; i < Registers::kSp; ++i) {
        registers.value[i] = context.uc_mcontext.regs[i];
    }
    registers.value[Registers::kSp] = context.uc_mcontext.sp;
    registers.value[Registers::kPc] = context.uc_mcontext.pc;
#endif
    return registers;
}

}  // namespace sample::unwind

// The registers that a signal interrupted, from its handler's third argument. Async-signal-safe.
// Source: Linux uapi/asm/sigcontext.h, ucontext.h.
#pragma once

#include "unwind/walk/registers.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace sample::unwind {

[[nodiscard]] inline Registers registers_of(const ucontext_t& context) noexcept {
    Registers registers;
#if defined(__x86_64__)
    const auto& from = context.uc_mcontext.gregs;
    const auto get = [&from](int index) { return static_cast<std::uint64_t>(from[index]); };
    registers.value = {get(REG_RAX), get(REG_RDX), get(REG_RCX), get(REG_RBX), get(REG_RSI),
                       get(REG_RDI), get(REG_RBP), get(REG_RSP), get(REG_R8),  get(REG_R9),
                       get(REG_R10), get(REG_R11), get(REG_R12), get(REG_R13), get(REG_R14),
                       get(REG_R15), get(REG_RIP)};
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

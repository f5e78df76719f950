// What a handler inherits of the processor's state, and must not trust.
//
// The kernel enters a handler with clean flags of direction and stepping, and with the initial
// state of the x87, vector and protection-key registers. It leaves two things as the interrupted
// code had them: the check of alignment (EFLAGS.AC), under which memcpy() itself faults, and the
// base of the segment FS, from which thread-local storage is reckoned: errno, too. An emulator, or
// a loader that runs another program in its own process, puts there what it likes.
//
// Async-signal-safe. Source: Linux arch/x86/kernel/signal.c, handle_signal, and signal_64.c,
// x64_setup_rt_frame.
#pragma once

#include <cstdint>

namespace sample::capture {

/// Memory may be read at any address from here on, until the calling handler returns.
inline void allow_misaligned_access() noexcept {
    constexpr std::uint64_t kAlignmentCheck = 0x40000;
    const std::uint64_t flags = __builtin_ia32_readeflags_u64();
    if ((flags & kAlignmentCheck) != 0) [[unlikely]] {
        __builtin_ia32_writeeflags_u64(flags & ~kAlignmentCheck);
    }
    asm volatile("" ::: "memory");
}

/// Whether thread-local storage lies where compiled code expects it. Of a base that was not seen
/// before, memory is only read if the kernel can read it: up to three system calls.
[[nodiscard]] bool has_thread_locals() noexcept;

/// The kernel lets programs read the base by an instruction (AT_HWCAP2, HWCAP2_FSGSBASE; Linux
/// 5.9). Until then it is asked each time, by arch_prctl(2).
void read_thread_base_by_instruction() noexcept;

/// The kernel must not be asked: without the instruction the base is believed from here on to be
/// that of a block that can be read.
void believe_thread_base() noexcept;

}  // namespace sample::capture

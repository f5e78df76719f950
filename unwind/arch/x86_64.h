// What the walker knows of x86-64: constants and a few shapes of code, no more. Everything else is
// the same for every architecture, and takes one of these as its template parameter.
//
// Async-signal-safe. Source: System V x86-64 psABI 3.7 and table 3.36; Linux uapi/asm/sigcontext.h.
#pragma once

#include <elf.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind::arch {

struct X64 {
    static constexpr std::uint16_t kElfMachine = EM_X86_64;

    /// General registers by DWARF number: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp,
    /// 8–15 r8–r15, 16 the pc.
    struct Numbers {
        static constexpr std::size_t kBx = 3;
        static constexpr std::size_t kBp = 6;
        static constexpr std::size_t kSp = 7;
        static constexpr std::size_t kPc = 16;
        static constexpr std::size_t kReturn = 16;  ///< Whose rule is the return address's.
        static constexpr std::size_t kCount = 17;
    };
    using Mask = std::uint32_t;  ///< A bit a register.

    /// The return address is at CFA - 8 in every frame that a row describes.
    static constexpr bool kHasLinkRegister = false;

    /// Registers that a rule can restore: rbx, rbp, rsp, r12–r15, return address.
    static constexpr std::array<std::uint8_t, 8> kRestored{3, 6, 7, 12, 13, 14, 15, 16};
    /// The index of `reg` in kRestored, or its size.
    [[nodiscard]] static constexpr std::size_t slot_of(std::uint64_t reg) noexcept {
        // One nibble a register, 15 first: a table without memory.
        constexpr std::uint64_t kNibbles = 0x6543888821880888;
        if (reg < 16) {
            return (kNibbles >> (4 * reg)) & 0xf;
        }
        return reg == Numbers::kReturn ? 7 : kRestored.size();
    }

    /// As every compiler writes them: the CIE's alignment factors (1, -8), return column, size of
    /// its augmentation data and pointer encoding; its program: CFA = rsp + 8, the return address
    /// at CFA - 8, two bytes of padding.
    static constexpr std::uint64_t kUsualCie = 0x1b'01107801;
    static constexpr std::uint64_t kCodeAlign = 1;
    static constexpr std::uint64_t kUsualProgramBytes = 7;
    static constexpr std::uint64_t kUsualCfaOffset = 8;
    [[nodiscard]] static bool is_usual_program(const void* program) noexcept {
        constexpr std::uint32_t kDefineCfa = 0x9008070c;  // and the return address's offset
        constexpr std::uint32_t kRest = 0x00000190;       // that again, 1; nop; nop
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        __builtin_memcpy(&first, program, sizeof(first));
        __builtin_memcpy(&last, static_cast<const char*>(program) + 3, sizeof(last));
        return first == kDefineCfa && last == kRest;
    }

    static constexpr std::uint64_t kUserBegin = 4096;
    static constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;
    /// The code address that a saved return address stands for.
    [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t word) noexcept {
        return word;
    }

    /// DWARF numbers in the order of struct sigcontext, which begins 40 bytes into the ucontext,
    /// which is at rsp in a signal trampoline: r8–r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
    static constexpr std::uint64_t kSigcontextOffset = 40;
    static constexpr std::array<std::uint8_t, Numbers::kCount> kSigcontextOrder{
        8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
    /// Where that has the interrupted rsp: the CFA of a trampoline that has rules.
    static constexpr std::int64_t kSavedSp = 160;

    /// mov $15, %rax; syscall: rt_sigreturn, as every C library's trampoline has it.
    static constexpr std::uint64_t kSigreturnBytes = 9;
    static constexpr std::uint64_t kSigreturnSyscall = 7;  ///< Where the second instruction is.
    [[nodiscard]] static bool is_sigreturn(const void* code) noexcept {
        constexpr std::uint64_t kMov = 0x0f0000000fc0c748;  // and the syscall's first byte
        constexpr std::uint8_t kEnd = 0x05;
        std::uint64_t mov = 0;
        std::uint8_t end = 0;
        __builtin_memcpy(&mov, code, sizeof(mov));
        __builtin_memcpy(&end, static_cast<const char*>(code) + sizeof(mov), sizeof(end));
        return mov == kMov && end == kEnd;
    }

#if defined(__x86_64__)
    /// rt_sigprocmask(how, mask, null, 8), the one system call that the walker makes: zero or a
    /// negated errno, and errno is untouched.
    static long rt_sigprocmask(long how, std::uint64_t mask) noexcept {
        long result = SYS_rt_sigprocmask;
        register long mask_size asm("r10") = 8;
        asm volatile("syscall"
                     : "+a"(result)
                     : "D"(how), "S"(mask), "d"(0L), "r"(mask_size)
                     : "rcx", "r11", "memory");
        return result;
    }
#endif
};

}  // namespace sample::unwind::arch

// What the walker knows of aarch64: constants and a few shapes of code, no more.
//
// A call leaves its return address in x30, the link register. A function that calls others saves
// it, mostly beside x29, the frame pointer, as a frame record {x29, x30}, anywhere in its frame. It
// may be signed: its upper bits then hold an authentication code, which is cut off wherever a
// return address is read; that needs no key and no knowledge of whether it was signed.
//
// Async-signal-safe. Source: AAPCS64; DWARF for the Arm 64-bit Architecture (aadwarf64); Linux
// Documentation/arm64/pointer-authentication.rst, uapi/asm/sigcontext.h, kernel/vdso/sigreturn.S.
#pragma once

#include <elf.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::unwind::arch {

struct Aarch64 {
    static constexpr std::uint16_t kElfMachine = EM_AARCH64;

    /// Registers by DWARF number: 0–30 x0–x30, 31 sp, 32 the pc. The return address's rule is
    /// x30's.
    struct Numbers {
        static constexpr std::size_t kBp = 29;
        static constexpr std::size_t kReturn = 30;
        static constexpr std::size_t kSp = 31;
        static constexpr std::size_t kPc = 32;
        static constexpr std::size_t kCount = 33;
    };
    using Mask = std::uint64_t;

    static constexpr bool kHasLinkRegister = true;

    /// x19–x28, x29, x30, sp.
    static constexpr std::array<std::uint8_t, 13> kRestored{19, 20, 21, 22, 23, 24, 25,
                                                            26, 27, 28, 29, 30, 31};
    [[nodiscard]] static constexpr std::size_t slot_of(std::uint64_t reg) noexcept {
        return reg - kRestored.front() < kRestored.size() ? reg - kRestored.front()
                                                          : kRestored.size();
    }

    /// As every compiler writes them: the CIE's alignment factors (4, -8), return column, size of
    /// its augmentation data and pointer encoding; its program: CFA = sp + 0.
    static constexpr std::uint64_t kUsualCie = 0x1b'011e7804;
    static constexpr std::uint64_t kCodeAlign = 4;
    static constexpr std::uint64_t kUsualProgramBytes = 3;
    static constexpr std::uint64_t kUsualCfaOffset = 0;
    [[nodiscard]] static bool is_usual_program(const void* program) noexcept {
        std::array<std::uint8_t, kUsualProgramBytes> bytes{};
        __builtin_memcpy(bytes.data(), program, bytes.size());
        return bytes == std::array<std::uint8_t, kUsualProgramBytes>{0x0c, 31, 0};
    }

    /// Of the usual address spaces of 48 bits; larger ones have to be asked for by mmap's hint.
    static constexpr std::uint64_t kUserBegin = 4096;
    static constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 48;
    [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t word) noexcept {
        return word & (kUserEnd - 1);
    }

    /// struct rt_sigframe is at sp in a signal trampoline: 128 bytes of siginfo, then the ucontext,
    /// whose sigcontext is at 176 and begins with fault_address; there x0–x30, sp and pc follow.
    static constexpr std::uint64_t kSigcontextOffset = 128 + 176 + 8;
    static constexpr std::array<std::uint8_t, Numbers::kCount> kSigcontextOrder{
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

    /// mov x8, #139; svc #0: rt_sigreturn, in the vDSO or in a C library's trampoline.
    static constexpr std::uint64_t kSigreturnBytes = 8;
    static constexpr std::uint64_t kSigreturnSyscall = 4;
    [[nodiscard]] static bool is_sigreturn(const void* code) noexcept {
        constexpr std::uint64_t kMovSvc = 0xd4000001'd2801168;
        std::uint64_t found = 0;
        __builtin_memcpy(&found, code, sizeof(found));
        return found == kMovSvc;
    }

    /// A PLT's entries, for which linkers write no rules. `Stub::entry` leaves sp and x30 as they
    /// are; `Stub::header` has pushed {x16, x30}.
    enum class Stub : std::uint8_t { none, entry, header };

    /// What the instruction at an address belongs to, given those up to four before and after it:
    /// `words[kStubContext]` is the instruction itself.
    static constexpr std::size_t kStubContext = 4;
    using StubWords = std::array<std::uint32_t, 2 * kStubContext + 1>;
    [[nodiscard]] static constexpr Stub stub_around(const StubWords& words) noexcept {
        for (std::size_t first = 1; first <= kStubContext; ++first) {
            if (is_indirect_jump(words, first)) {
                return words[first - 1] == kPushLink ? Stub::header : Stub::entry;
            }
        }
        // On what comes before the four instructions: the header's push, an entry's landing pad.
        const std::uint32_t here = words[kStubContext];
        const bool before = is_indirect_jump(words, kStubContext + 1);
        return before && (here == kPushLink || here == kBtiC) ? Stub::entry : Stub::none;
    }

    /// bl or blr, signed variants too. The word before a return address.
    [[nodiscard]] static constexpr bool is_call(std::uint32_t word) noexcept {
        const bool direct = (word & 0xfc000000) == 0x94000000;
        const bool computed = (word & 0xfffffc1f) == 0xd63f0000;
        const bool authenticated = (word & 0xfefff800) == 0xd63f0800;
        return direct || computed || authenticated;
    }

#if defined(__aarch64__)
    /// rt_sigprocmask(how, mask, null, 8): zero or a negated errno.
    static long rt_sigprocmask(long how, std::uint64_t mask) noexcept {
        register long number asm("x8") = SYS_rt_sigprocmask;
        register long result asm("x0") = how;
        register std::uint64_t set asm("x1") = mask;
        register long old_set asm("x2") = 0;
        register long mask_size asm("x3") = 8;
        asm volatile("svc #0"
                     : "+r"(result)
                     : "r"(number), "r"(set), "r"(old_set), "r"(mask_size)
                     : "memory");
        return result;
    }
#endif

private:
    static constexpr std::uint32_t kPushLink = 0xa9bf7bf0;  // stp x16, x30, [sp, #-16]!
    static constexpr std::uint32_t kBtiC = 0xd503245f;

    /// adrp x16, …; ldr x17, [x16, …]; add x16, x16, …; br x17.
    static constexpr bool is_indirect_jump(const StubWords& words, std::size_t first) noexcept {
        return first + 3 < words.size() && (words[first] & 0x9f00001f) == 0x90000010 &&
               (words[first + 1] & 0xffc003ff) == 0xf9400211 &&
               (words[first + 2] & 0xffc003ff) == 0x91000210 && words[first + 3] == 0xd61f0220;
    }
};
using Foreign = Aarch64;

}  // namespace sample::unwind::arch

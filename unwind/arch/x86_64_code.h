// x86-64 code as far as it tells of callers: calls, and the stubs that they lead through.
//
// Async-signal-safe.
#pragma once

#include "unwind/walk/guess.h"

#include <array>
#include <cstdint>

namespace sample::unwind {

inline bool is_user_address(std::uint64_t address) noexcept {
    return address >= arch::X64::kUserBegin && address < arch::X64::kUserEnd;
}

/// What is read of code, by `Source`'s at().
template <class Source>
class CodeOf : public Source {
public:
    using Source::Source;

    [[nodiscard]] std::uint8_t byte(std::uint64_t address) const noexcept {
        return Source::template at<std::uint8_t>(address);
    }
    /// What a 32-bit displacement at `address`, which ends its instruction, points to.
    [[nodiscard]] std::uint64_t relative(std::uint64_t address) const noexcept {
        return address + 4 +
               static_cast<std::uint64_t>(std::int64_t{Source::template at<std::int32_t>(address)});
    }
};

/// Code bytes of a module.
class ModuleBytes {
public:
    explicit ModuleBytes(const Module& module) noexcept : module_{module} {}

    /// All zero where [address, address + sizeof(T)) is not in the module's code.
    template <class T>
    [[nodiscard]] T at(std::uint64_t address) const noexcept {
        T value{};
        if (address >= module_.code.begin && address < module_.code.end &&
            module_.code.end - address >= sizeof(T)) {
            __builtin_memcpy(&value, reinterpret_cast<const void*>(address + module_.image_delta),
                             sizeof(T));
        }
        return value;
    }

private:
    const Module& module_;
};
using Code = CodeOf<ModuleBytes>;

/// The slot that a PLT stub at `pc` jumps through: jmp *slot(%rip), perhaps behind endbr64 and with
/// a bnd prefix. 0: it is none.
inline std::uint64_t stub_slot(const Code& code, std::uint64_t pc) noexcept {
    constexpr std::uint32_t kEndbr64 = 0xfa1e0ff3;
    constexpr std::uint8_t kBnd = 0xf2;
    constexpr std::uint16_t kJumpSlot = 0x25ff;
    pc += code.at<std::uint32_t>(pc) == kEndbr64 ? 4 : 0;
    pc += code.byte(pc) == kBnd ? 1 : 0;
    return code.at<std::uint16_t>(pc) == kJumpSlot ? code.relative(pc + 2) : 0;
}

/// Code of no module, read like a stack's words: all zero where it can't be.
class MadeBytes {
public:
    explicit MadeBytes(StackMemory& memory) noexcept : memory_{memory} {}

    template <class T>
    [[nodiscard]] T at(std::uint64_t address) const noexcept {
        std::array<std::uint64_t, 2> words{};
        const std::uint64_t first = address & ~std::uint64_t{7};
        const bool one = address + sizeof(T) <= first + 8;
        T value{};
        if (memory_.read(first, words[0]) && (one || memory_.read(first + 8, words[1]))) {
            __builtin_memcpy(&value, reinterpret_cast<const char*>(words.data()) + address % 8,
                             sizeof(T));
        }
        return value;
    }

private:
    StackMemory& memory_;
};
using MadeCode = CodeOf<MadeBytes>;

/// Calls `look` with the code of `module`, or of none.
template <class Look>
auto in_code_of(const Module* module, StackMemory& memory, Look look) noexcept {
    return module != nullptr ? look(Code{*module}) : look(MadeCode{memory});
}

// The longest call instruction: ff /2 with a SIB byte and a 32-bit displacement.
inline constexpr std::uint64_t kLongestCall = 7;

enum class CallKind : std::uint8_t {
    none,
    direct,    ///< To `target`.
    slot,      ///< To what the word at `target` holds.
    computed,  ///< Through a register or other memory.
};
struct Call {
    CallKind kind = CallKind::none;
    std::uint64_t target = 0;
};

/// The length of an instruction of one byte and an operand, as `call *operand` is, without
/// prefixes, by its ModRM byte and the one behind.
inline unsigned operand_end(unsigned modrm, unsigned sib) noexcept {
    const unsigned mod = modrm >> 6;
    const unsigned rm = modrm & 7;
    if (mod == 3) {
        return 2;
    }
    const bool has_sib = rm == 4;
    const bool no_base = mod == 0 && (has_sib ? (sib & 7) == 5 : rm == 5);
    const unsigned displacement = mod == 2 || no_base ? 4 : mod;
    return (has_sib ? 3 : 2) + displacement;
}

/// The call instruction that ends at `end`. Source: Intel SDM volume 2, CALL and table 2-2.
template <class Bytes>
Call call_before(const Bytes& code, std::uint64_t end) noexcept {
    constexpr std::uint8_t kCallRelative = 0xe8;
    constexpr std::uint8_t kGroup5 = 0xff;
    if (code.byte(end - 5) == kCallRelative) {
        return {CallKind::direct, code.relative(end - 4)};
    }
    for (std::uint64_t length = 2; length <= kLongestCall; ++length) {
        constexpr std::uint8_t kOperation = 0x38;
        constexpr std::uint8_t kCall = 0x10;
        constexpr std::uint8_t kRelativeSlot = 0x15;
        const std::uint8_t modrm = code.byte(end - length + 1);
        if (code.byte(end - length) == kGroup5 && (modrm & kOperation) == kCall &&
            length == operand_end(modrm, code.byte(end - length + 2))) {
            return modrm == kRelativeSlot ? Call{CallKind::slot, code.relative(end - 4)}
                                          : Call{CallKind::computed, 0};
        }
    }
    return {};
}

}  // namespace sample::unwind

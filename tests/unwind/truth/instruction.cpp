// Classifying an instruction; the contract is in the header.
#include "tests/unwind/truth/instruction.h"

namespace sample::unwind::truth {

namespace {

constexpr bool is_prefix(unsigned byte) noexcept {
    switch (byte) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:  // notrack, before an indirect branch
        case 0x64:
        case 0x65:
        case 0x66:
        case 0x67:
        case 0xf0:
        case 0xf2:  // bnd, before a branch
        case 0xf3:  // rep, before a ret
            return true;
        default:
            return (byte & 0xf0) == 0x40;  // REX
    }
}

Instruction classify_group_5(unsigned modrm) noexcept {
    switch (modrm >> 3 & 7) {
        case 2:
            return Instruction::call;
        case 4:
            return Instruction::indirect_jump;
        case 3:
        case 5:
            return Instruction::far_transfer;
        default:
            return Instruction::other;
    }
}

}  // namespace

Instruction classify(std::span<const std::byte> bytes) noexcept {
    std::size_t at = 0;
    const auto byte = [&](std::size_t index) {
        return index < bytes.size() ? std::to_integer<unsigned>(bytes[index]) : 0U;
    };
    while (at < bytes.size() && is_prefix(byte(at))) {
        ++at;
    }
    switch (byte(at)) {
        case 0xe8:
            return Instruction::call;
        case 0xc2:
        case 0xc3:
            return Instruction::ret;
        case 0xca:
        case 0xcb:
        case 0xcf:
            return Instruction::far_transfer;
        case 0xff:
            return classify_group_5(byte(at + 1));
        case 0x0f:
            return byte(at + 1) == 0x05 ? Instruction::syscall : Instruction::other;
        default:
            return Instruction::other;
    }
}

}  // namespace sample::unwind::truth

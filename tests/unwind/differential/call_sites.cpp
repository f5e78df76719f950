// Reading call instructions backwards; the contract is in the header.
#include "tests/unwind/differential/call_sites.h"

#include <array>
#include <cstring>

namespace sample::unwind::differential {

namespace {

constexpr std::uint64_t kLongestCall = 7;
constexpr std::uint64_t kDirectCall = 5;
// mov $15, %rax; syscall: what a signal's trampoline is.
constexpr std::array<std::uint8_t, 9> kSigreturn{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr std::uint64_t kSigreturnMov = 7;

/// Bytes of an FF /2 with this ModRM and SIB byte, prefixes left out; 0 if it is another operation.
std::size_t indirect_call_size(std::uint8_t modrm, std::uint8_t sib) {
    const unsigned mode = modrm >> 6;
    const unsigned operand = modrm & 7;
    if ((modrm >> 3 & 7) != 2) {
        return 0;
    }
    if (mode == 3) {
        return 2;
    }
    const bool has_sib = operand == 4;
    const std::size_t size = has_sib ? 3 : 2;
    const bool no_base = mode == 0 && (has_sib ? (sib & 7) == 5 : operand == 5);
    return size + (mode == 1 ? 1 : 0) + (mode == 2 || no_base ? 4 : 0);
}

bool ends_in_indirect_call(const std::array<std::uint8_t, kLongestCall>& before) {
    for (std::size_t size = 2; size <= kLongestCall; ++size) {
        const std::size_t at = kLongestCall - size;
        const std::uint8_t sib = size > 2 ? before.at(at + 2) : 0;
        if (before.at(at) == 0xff && indirect_call_size(before.at(at + 1), sib) == size) {
            return true;
        }
    }
    return false;
}

/// Where the function of `pc` begins, by the unwind tables; 0 if none says.
std::uint64_t function_start(const ModuleTable& modules, std::uint64_t pc) {
    const Module* module = modules.find(Pc{pc});
    cfi::Fde fde;
    if (module == nullptr ||
        cfi::find_fde(module->local_tables(), pc + module->image_delta, fde) != cfi::Found::yes) {
        return 0;
    }
    return fde.pc_begin - module->image_delta;
}

}  // namespace

bool CallSites::is_trampoline(std::uint64_t address) const {
    // At its first instruction, at its second, or in the kernel.
    for (const std::uint64_t before : {std::uint64_t{0}, kSigreturnMov, kSigreturn.size()}) {
        const std::byte* bytes = process_.bytes_at(address - before, kSigreturn.size());
        if (bytes != nullptr && std::memcmp(bytes, kSigreturn.data(), kSigreturn.size()) == 0) {
            return true;
        }
    }
    return false;
}

Link CallSites::link(std::uint64_t callee, std::uint64_t caller) const {
    // The kernel made the frame of a signal handler, and interrupted what lies behind it.
    if (is_trampoline(callee) || is_trampoline(caller)) {
        return Link::unknown;
    }
    if (!process_.is_code(caller - 1)) {
        return Link::refuted;
    }
    const std::byte* bytes = process_.bytes_at(caller - kLongestCall, kLongestCall);
    if (bytes == nullptr) {
        return Link::unknown;
    }
    std::array<std::uint8_t, kLongestCall> before{};
    std::memcpy(before.data(), bytes, before.size());
    if (before.at(kLongestCall - kDirectCall) == 0xe8) {
        std::int32_t distance = 0;
        std::memcpy(&distance, &before.at(kLongestCall - kDirectCall + 1), sizeof(distance));
        const std::uint64_t target = caller + static_cast<std::uint64_t>(std::int64_t{distance});
        const ModuleTable& modules = process_.modules();
        const std::uint64_t called = function_start(modules, target);
        // The byte before a return address is inside its function, also if the call is its last.
        const bool same = called != 0 && (called == function_start(modules, callee) ||
                                          called == function_start(modules, callee - 1));
        return same ? Link::proven : Link::possible;
    }
    return ends_in_indirect_call(before) ? Link::possible : Link::refuted;
}

}  // namespace sample::unwind::differential

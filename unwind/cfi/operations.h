// The operations of DWARF expressions, for their evaluator and their recogniser. Async-signal-safe.
// Source: DWARF 5 section 7.7.1.
#pragma once

#include "unwind/cfi/byte_reader.h"

#include <cstdint>

namespace sample::unwind::cfi {

enum Operation : std::uint8_t {
    op_deref = 0x06,
    op_const1u = 0x08,
    op_const1s = 0x09,
    op_const2u = 0x0a,
    op_const2s = 0x0b,
    op_const4u = 0x0c,
    op_const4s = 0x0d,
    op_const8u = 0x0e,
    op_const8s = 0x0f,
    op_constu = 0x10,
    op_consts = 0x11,
    op_dup = 0x12,
    op_drop = 0x13,
    op_over = 0x14,
    op_pick = 0x15,
    op_swap = 0x16,
    op_rot = 0x17,
    op_abs = 0x19,
    op_and = 0x1a,
    op_div = 0x1b,
    op_minus = 0x1c,
    op_mod = 0x1d,
    op_mul = 0x1e,
    op_neg = 0x1f,
    op_not = 0x20,
    op_or = 0x21,
    op_plus = 0x22,
    op_plus_uconst = 0x23,
    op_shl = 0x24,
    op_shr = 0x25,
    op_shra = 0x26,
    op_xor = 0x27,
    op_bra = 0x28,
    op_eq = 0x29,
    op_ge = 0x2a,
    op_gt = 0x2b,
    op_le = 0x2c,
    op_lt = 0x2d,
    op_ne = 0x2e,
    op_skip = 0x2f,
    op_lit0 = 0x30,
    op_lit31 = 0x4f,
    op_breg0 = 0x70,
    op_breg31 = 0x8f,
    op_bregx = 0x92,
    op_deref_size = 0x94,
    op_nop = 0x96,
};

/// The operations of a block that run_program() has checked against its bounds.
inline ByteReader operations_of(std::uint64_t block) noexcept {
    // The length itself was read within bounds when the program ran; it has at most ten bytes.
    ByteReader length{block, block + 10};
    const std::uint64_t size = length.uleb();
    if (!length.ok()) {
        return ByteReader{0, 0};
    }
    return ByteReader{length.position(), length.position() + size};
}

}  // namespace sample::unwind::cfi

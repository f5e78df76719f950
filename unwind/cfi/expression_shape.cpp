// The expression recogniser; the contract is in expression.h.
#include "unwind/arch/x86_64.h"
#include "unwind/cfi/expression.h"
#include "unwind/cfi/operations.h"

namespace sample::unwind::cfi {

namespace {

using X86 = arch::X64::Numbers;

/// What follows DW_OP_breg7 8 in the CFA of a lazy PLT section, the bound of the literal apart.
bool is_plt(ByteReader reader, ExpressionShape& shape) noexcept {
    const bool masks_rip = reader.u8() == op_breg0 + X86::kPc && reader.sleb() == 0 &&
                           reader.u8() == op_lit0 + 15 && reader.u8() == op_and;
    const std::uint8_t literal = reader.u8();
    const bool adds_eight = reader.u8() == op_ge && reader.u8() == op_lit0 + 3 &&
                            reader.u8() == op_shl && reader.u8() == op_plus && reader.at_end();
    shape.bound = literal - std::uint64_t{op_lit0};
    return masks_rip && adds_eight && literal >= op_lit0 && literal <= op_lit31;
}

}  // namespace

ExpressionShape recognise(std::uint64_t block) noexcept {
    using Kind = ExpressionShape::Kind;
    ExpressionShape shape;
    ByteReader reader = operations_of(block);
    const std::uint8_t first = reader.u8();
    if (first < op_breg0 || first > op_breg31) {
        return shape;
    }
    shape.reg = first - std::uint64_t{op_breg0};
    shape.offset = reader.sleb();
    if (reader.at_end()) {
        shape.kind = reader.ok() ? Kind::reg_plus : Kind::other;
        return shape;
    }
    if (shape.reg == X86::kSp && shape.offset == 8 && is_plt(reader, shape)) {
        shape.kind = Kind::plt;
        return shape;
    }
    if (reader.u8() != op_deref) {
        return shape;
    }
    if (!reader.at_end()) {
        if (reader.u8() != op_plus_uconst) {
            return shape;
        }
        shape.offset2 = static_cast<std::int64_t>(reader.uleb());
    }
    shape.kind = reader.ok() && reader.at_end() ? Kind::deref_reg_plus : Kind::other;
    return shape;
}

}  // namespace sample::unwind::cfi

// The expression evaluator and recogniser; the contracts are in the header. Source: DWARF 5 section
// 7.7.1.
#include "unwind/cfi/expression.h"

#include "unwind/arch/x86_64.h"
#include "unwind/cfi/byte_reader.h"

#include <dwarf.h>

#include <array>

namespace sample::unwind::cfi {

namespace {

/// The operations of a block that run_program() has checked against its bounds.
ByteReader operations_of(std::uint64_t block) noexcept {
    // The length itself was read within bounds when the program ran; it has at most ten bytes.
    ByteReader length{block, block + 10};
    const std::uint64_t size = length.uleb();
    if (!length.ok()) {
        return ByteReader{0, 0};
    }
    return ByteReader{length.position(), length.position() + size};
}

class Evaluator {
public:
    Evaluator(ByteReader operations, const RegisterView& registers, StackMemory& memory) noexcept
        : begin_{operations.position()},
          operations_{operations},
          registers_{registers},
          memory_{memory} {}

    void push(std::uint64_t value) noexcept {
        if (depth_ == kExpressionStack) {
            fail(Evaluated::unsupported);
            return;
        }
        stack_[depth_++] = value;
    }

    Evaluated run(std::uint64_t& result) noexcept {
        for (unsigned executed = 0; !operations_.at_end(); ++executed) {
            if (executed == kMaxOperations) {
                return Evaluated::unsupported;
            }
            step(operations_.u8());
            if (!operations_.ok()) {
                return Evaluated::unsupported;
            }
            if (status_ != Evaluated::yes) {
                return status_;
            }
        }
        result = pop();
        return status_;
    }

private:
    void step(std::uint8_t op) noexcept {
        if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
            push(op - DW_OP_lit0);
        } else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
            push_register(op - DW_OP_breg0);
        } else if (!constant(op) && !shuffle(op) && !unary(op) && !jump(op)) {
            binary(op);
        }
    }

    bool constant(std::uint8_t op) noexcept {
        switch (op) {
            case DW_OP_const1u:
                push(operations_.u8());
                return true;
            case DW_OP_const1s:
                push(extended(operations_.fixed<std::int8_t>()));
                return true;
            case DW_OP_const2u:
                push(operations_.fixed<std::uint16_t>());
                return true;
            case DW_OP_const2s:
                push(extended(operations_.fixed<std::int16_t>()));
                return true;
            case DW_OP_const4u:
                push(operations_.u32());
                return true;
            case DW_OP_const4s:
                push(extended(operations_.fixed<std::int32_t>()));
                return true;
            case DW_OP_const8u:
            case DW_OP_const8s:
                push(operations_.fixed<std::uint64_t>());
                return true;
            case DW_OP_constu:
                push(operations_.uleb());
                return true;
            case DW_OP_consts:
                push(extended(operations_.sleb()));
                return true;
            case DW_OP_bregx:
                push_register(operations_.uleb());
                return true;
            default:
                return false;
        }
    }

    bool shuffle(std::uint8_t op) noexcept {
        switch (op) {
            case DW_OP_nop:
                return true;
            case DW_OP_dup:
                push(peek(0));
                return true;
            case DW_OP_drop:
                static_cast<void>(pop());
                return true;
            case DW_OP_over:
                push(peek(1));
                return true;
            case DW_OP_pick:
                push(peek(operations_.u8()));
                return true;
            case DW_OP_swap: {
                const std::uint64_t top = pop();
                const std::uint64_t second = pop();
                push(top);
                push(second);
                return true;
            }
            case DW_OP_rot: {
                const std::uint64_t top = pop();
                const std::uint64_t second = pop();
                const std::uint64_t third = pop();
                push(top);
                push(third);
                push(second);
                return true;
            }
            default:
                return false;
        }
    }

    bool unary(std::uint8_t op) noexcept {
        switch (op) {
            case DW_OP_deref:
                push(load(pop(), 8));
                return true;
            case DW_OP_deref_size: {
                const std::uint8_t size = operations_.u8();
                push(load(pop(), size));
                return true;
            }
            case DW_OP_plus_uconst: {
                const std::uint64_t addend = operations_.uleb();
                push(pop() + addend);
                return true;
            }
            case DW_OP_neg:
                push(0 - pop());
                return true;
            case DW_OP_not:
                push(~pop());
                return true;
            case DW_OP_abs: {
                const std::uint64_t value = pop();
                push(as_signed(value) < 0 ? 0 - value : value);
                return true;
            }
            default:
                return false;
        }
    }

    bool jump(std::uint8_t op) noexcept {
        if (op != DW_OP_skip && op != DW_OP_bra) {
            return false;
        }
        const std::uint64_t by = extended(operations_.fixed<std::int16_t>());
        if (op == DW_OP_bra && pop() == 0) {
            return true;
        }
        const std::uint64_t target = operations_.position() + by;
        if (target < begin_ || target > operations_.end()) {
            fail(Evaluated::unsupported);
            return true;
        }
        operations_ = ByteReader{target, operations_.end()};
        return true;
    }

    void binary(std::uint8_t op) noexcept {
        const std::uint64_t right = pop();
        const std::uint64_t left = pop();
        switch (op) {
            case DW_OP_and:
                return push(left & right);
            case DW_OP_or:
                return push(left | right);
            case DW_OP_xor:
                return push(left ^ right);
            case DW_OP_plus:
                return push(left + right);
            case DW_OP_minus:
                return push(left - right);
            case DW_OP_mul:
                return push(left * right);
            case DW_OP_shl:
                return push(right < 64 ? left << right : 0);
            case DW_OP_shr:
                return push(right < 64 ? left >> right : 0);
            case DW_OP_shra:
                return push(extended(as_signed(left) >> (right < 64 ? right : 63)));
            case DW_OP_div:
            case DW_OP_mod:
                return divide(op, left, right);
            default:
                return compare(op, as_signed(left), as_signed(right));
        }
    }

    void divide(std::uint8_t op, std::uint64_t left, std::uint64_t right) noexcept {
        if (right == 0) {
            return fail(Evaluated::unsupported);
        }
        if (op == DW_OP_mod) {
            return push(left % right);
        }
        // The one signed quotient that overflows.
        if (right == ~std::uint64_t{0}) {
            return push(0 - left);
        }
        push(extended(as_signed(left) / as_signed(right)));
    }

    void compare(std::uint8_t op, std::int64_t left, std::int64_t right) noexcept {
        switch (op) {
            case DW_OP_eq:
                return push(left == right ? 1 : 0);
            case DW_OP_ge:
                return push(left >= right ? 1 : 0);
            case DW_OP_gt:
                return push(left > right ? 1 : 0);
            case DW_OP_le:
                return push(left <= right ? 1 : 0);
            case DW_OP_lt:
                return push(left < right ? 1 : 0);
            case DW_OP_ne:
                return push(left != right ? 1 : 0);
            default:
                return fail(Evaluated::unsupported);
        }
    }

    void push_register(std::uint64_t reg) noexcept {
        const std::uint64_t offset = extended(operations_.sleb());
        if (!registers_.knows(reg)) {
            return fail(registers_.exists(reg) ? Evaluated::unknown_register
                                               : Evaluated::unsupported);
        }
        push(registers_[reg] + offset);
    }

    std::uint64_t load(std::uint64_t address, std::uint8_t size) noexcept {
        std::uint64_t value = 0;
        if (size != 1 && size != 2 && size != 4 && size != 8) {
            fail(Evaluated::unsupported);
            return 0;
        }
        // Only whole words are readable through a StackMemory; a part is cut out of its word.
        const std::uint64_t in_word = address & 7;
        if (in_word + size > 8 || !memory_.read(address - in_word, value)) {
            fail(Evaluated::unreadable);
            return 0;
        }
        value >>= 8 * in_word;
        return size == 8 ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
    }

    std::uint64_t peek(unsigned index) noexcept {
        if (index >= depth_) {
            fail(Evaluated::unsupported);
            return 0;
        }
        return stack_[depth_ - 1 - index];
    }
    std::uint64_t pop() noexcept {
        if (depth_ == 0) {
            fail(Evaluated::unsupported);
            return 0;
        }
        return stack_[--depth_];
    }
    /// The first failure is the one that is told.
    void fail(Evaluated why) noexcept {
        if (status_ == Evaluated::yes) {
            status_ = why;
        }
    }
    static std::int64_t as_signed(std::uint64_t value) noexcept {
        return static_cast<std::int64_t>(value);
    }
    static std::uint64_t extended(std::int64_t value) noexcept {
        return static_cast<std::uint64_t>(value);
    }

    std::uint64_t begin_;
    ByteReader operations_;
    const RegisterView& registers_;
    StackMemory& memory_;
    Evaluated status_ = Evaluated::yes;
    unsigned depth_ = 0;
    std::array<std::uint64_t, kExpressionStack> stack_;
};

using X86 = arch::X64::Numbers;

/// What follows DW_OP_breg7 8 in the CFA of a lazy PLT section, the bound of the literal apart.
bool is_plt(ByteReader reader, ExpressionShape& shape) noexcept {
    const bool masks_rip = reader.u8() == DW_OP_breg0 + X86::kPc && reader.sleb() == 0 &&
                           reader.u8() == DW_OP_lit0 + 15 && reader.u8() == DW_OP_and;
    const std::uint8_t literal = reader.u8();
    const bool adds_eight = reader.u8() == DW_OP_ge && reader.u8() == DW_OP_lit0 + 3 &&
                            reader.u8() == DW_OP_shl && reader.u8() == DW_OP_plus &&
                            reader.at_end();
    shape.bound = literal - std::uint64_t{DW_OP_lit0};
    return masks_rip && adds_eight && literal >= DW_OP_lit0 && literal <= DW_OP_lit31;
}

}  // namespace

ExpressionShape recognise(std::uint64_t block) noexcept {
    using Kind = ExpressionShape::Kind;
    ExpressionShape shape;
    ByteReader reader = operations_of(block);
    const std::uint8_t first = reader.u8();
    if (first < DW_OP_breg0 || first > DW_OP_breg31) {
        return shape;
    }
    shape.reg = first - std::uint64_t{DW_OP_breg0};
    shape.offset = reader.sleb();
    if (reader.at_end()) {
        shape.kind = reader.ok() ? Kind::reg_plus : Kind::other;
        return shape;
    }
    if (shape.reg == X86::kSp && shape.offset == 8 && is_plt(reader, shape)) {
        shape.kind = Kind::plt;
        return shape;
    }
    if (reader.u8() != DW_OP_deref) {
        return shape;
    }
    if (!reader.at_end()) {
        if (reader.u8() != DW_OP_plus_uconst) {
            return shape;
        }
        shape.offset2 = static_cast<std::int64_t>(reader.uleb());
    }
    shape.kind = reader.ok() && reader.at_end() ? Kind::deref_reg_plus : Kind::other;
    return shape;
}

Evaluated evaluate(std::uint64_t block, const RegisterView& registers, StackMemory& memory,
                   const std::uint64_t* initial, std::uint64_t& result) noexcept {
    Evaluator evaluator{operations_of(block), registers, memory};
    if (initial != nullptr) {
        evaluator.push(*initial);
    }
    return evaluator.run(result);
}

}  // namespace sample::unwind::cfi

// The call frame instruction interpreter; the contract is in the header.
#include "unwind/cfi/program.h"

namespace sample::unwind::cfi {

namespace {

// DW_CFA_*: two high bits name the three short instructions, the rest is in the low six.
enum Instruction : std::uint8_t {
    nop = 0x00,
    set_loc = 0x01,
    advance_loc1 = 0x02,
    advance_loc2 = 0x03,
    advance_loc4 = 0x04,
    offset_extended = 0x05,
    restore_extended = 0x06,
    undefined = 0x07,
    same_value = 0x08,
    in_register = 0x09,
    remember_state = 0x0a,
    restore_state = 0x0b,
    def_cfa = 0x0c,
    def_cfa_register = 0x0d,
    def_cfa_offset = 0x0e,
    def_cfa_expression = 0x0f,
    expression = 0x10,
    offset_extended_sf = 0x11,
    def_cfa_sf = 0x12,
    def_cfa_offset_sf = 0x13,
    val_offset = 0x14,
    val_offset_sf = 0x15,
    val_expression = 0x16,
    mips_advance_loc8 = 0x1d,
    gnu_args_size = 0x2e,
    gnu_negative_offset_extended = 0x2f,
    advance_loc = 0x40,
    offset = 0x80,
    restore = 0xc0,
};

class Interpreter {
public:
    Interpreter(const Fde& fde, std::uint64_t pc, Rules& rules) noexcept
        : fde_{fde}, pc_{pc}, location_{fde.pc_begin}, rules_{rules} {}

    bool run() noexcept {
        rules_ = Rules::unspecified();
        // The CIE's instructions have no locations: all of them run.
        if (!run(ByteReader{fde_.initial_program, fde_.initial_program_end})) {
            return false;
        }
        initial_ = rules_;
        return run(ByteReader{fde_.program, fde_.program_end});
    }

private:
    bool run(ByteReader reader) noexcept {
        while (!reader.at_end()) {
            if (++executed_ > kMaxInstructions) {
                return false;
            }
            const std::uint8_t byte = reader.u8();
            const std::uint64_t operand = byte & 0x3f;
            bool known = true;
            switch (byte & 0xc0) {
                case advance_loc:
                    location_ += operand * fde_.code_align;
                    break;
                case offset:
                    set(operand, RuleKind::offset, reader.uleb() * data_align());
                    break;
                case restore:
                    rules_.of(operand) = initial_.of(operand);
                    break;
                default:
                    known = advance(byte, reader) || define_cfa(byte, reader) ||
                            define_register(byte, reader) || change_state(byte, reader);
                    break;
            }
            if (!known || !reader.ok()) {
                return false;
            }
            if (location_ > pc_) {
                return true;
            }
        }
        return true;
    }

    // Each of the following handles its instructions and says whether `byte` was one of them.

    bool advance(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case nop:
                return true;
            case set_loc:
                location_ = read_pointer(reader, fde_.pointer_encoding, 0);
                return true;
            case advance_loc1:
                location_ += reader.u8() * fde_.code_align;
                return true;
            case advance_loc2:
                location_ += reader.fixed<std::uint16_t>() * fde_.code_align;
                return true;
            case advance_loc4:
                location_ += reader.u32() * fde_.code_align;
                return true;
            case mips_advance_loc8:
                location_ += reader.fixed<std::uint64_t>() * fde_.code_align;
                return true;
            default:
                return false;
        }
    }

    bool define_cfa(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case def_cfa:
                rules_.cfa.reg = register_number(reader);
                rules_.cfa.value = reader.uleb();
                return true;
            case def_cfa_sf:
                rules_.cfa.reg = register_number(reader);
                rules_.cfa.value = factored(reader);
                return true;
            case def_cfa_register:
                rules_.cfa.reg = register_number(reader);
                return true;
            case def_cfa_offset:
                rules_.cfa.value = reader.uleb();
                return rules_.cfa.reg < CfaRule::kExpression;
            case def_cfa_offset_sf:
                rules_.cfa.value = factored(reader);
                return rules_.cfa.reg < CfaRule::kExpression;
            case def_cfa_expression:
                rules_.cfa = CfaRule{CfaRule::kExpression, block(reader)};
                return true;
            default:
                return false;
        }
    }

    bool define_register(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case offset_extended:
            case val_offset: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == val_offset ? RuleKind::val_offset : RuleKind::offset,
                    reader.uleb() * data_align());
                return true;
            }
            case offset_extended_sf:
            case val_offset_sf: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == val_offset_sf ? RuleKind::val_offset : RuleKind::offset,
                    factored(reader));
                return true;
            }
            case gnu_negative_offset_extended: {
                const std::uint64_t reg = reader.uleb();
                set(reg, RuleKind::offset, 0 - reader.uleb() * data_align());
                return true;
            }
            case expression:
            case val_expression: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == expression ? RuleKind::expression : RuleKind::val_expression,
                    block(reader));
                return true;
            }
            case in_register: {
                const std::uint64_t reg = reader.uleb();
                set(reg, RuleKind::reg, reader.uleb());
                return true;
            }
            case undefined:
                set(reader.uleb(), RuleKind::undefined, 0);
                return true;
            case same_value:
                set(reader.uleb(), RuleKind::same, 0);
                return true;
            default:
                return false;
        }
    }

    bool change_state(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case restore_extended: {
                const std::uint64_t reg = reader.uleb();
                rules_.of(reg) = initial_.of(reg);
                return true;
            }
            case remember_state:
                if (remembered_ == kMaxRemembered) {
                    return false;
                }
                stack_[remembered_++] = rules_;
                return true;
            case restore_state:
                if (remembered_ == 0) {
                    return false;
                }
                rules_ = stack_[--remembered_];
                return true;
            case gnu_args_size:
                static_cast<void>(reader.uleb());
                return true;
            default:
                return false;
        }
    }

    void set(std::uint64_t reg, RuleKind kind, std::uint64_t payload) noexcept {
        rules_.of(reg) = Rule{kind, payload};
    }
    /// Numbers past the registers that exist are made one that no walk knows.
    static std::uint64_t register_number(ByteReader& reader) noexcept {
        const std::uint64_t reg = reader.uleb();
        return reg < CfaRule::kExpression ? reg : CfaRule::kExpression - 1;
    }
    std::uint64_t factored(ByteReader& reader) noexcept {
        return static_cast<std::uint64_t>(reader.sleb()) * data_align();
    }
    [[nodiscard]] std::uint64_t data_align() const noexcept {
        return static_cast<std::uint64_t>(fde_.data_align);
    }
    /// The address of a block; the reader is moved past it.
    static std::uint64_t block(ByteReader& reader) noexcept {
        const std::uint64_t address = reader.position();
        reader.skip(reader.uleb());
        return address;
    }

    const Fde& fde_;
    std::uint64_t pc_;
    std::uint64_t location_;
    unsigned executed_ = 0;
    unsigned remembered_ = 0;
    Rules& rules_;
    Rules initial_;
    // Not initialised: remember_state fills what restore_state reads.
    std::array<Rules, kMaxRemembered> stack_;
};

}  // namespace

bool run_program(const Fde& fde, std::uint64_t pc, Rules& out) noexcept {
    return Interpreter{fde, pc, out}.run();
}

}  // namespace sample::unwind::cfi

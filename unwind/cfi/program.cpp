// The call frame instruction interpreter; the contract is in the header.
#include "unwind/cfi/program.h"

#include "unwind/arch/aarch64.h"
#include "unwind/arch/built.h"

#include <type_traits>

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
    aarch64_negate_ra_state_with_pc = 0x2c,
    aarch64_negate_ra_state = 0x2d,
    gnu_args_size = 0x2e,
    gnu_negative_offset_extended = 0x2f,
    advance_loc = 0x40,
    offset = 0x80,
    restore = 0xc0,
};

/// In place: Rules::unspecified() is first made elsewhere and then copied.
template <class Arch>
[[gnu::always_inline]] inline void clear(BasicRules<Arch>& rules) noexcept {
    rules.cfa = CfaRule{CfaRule::kNone, 0};
    for (Rule& rule : rules.slots) {
        rule = Rule{};
    }
}

/// Word by word (a relaxed load is never widened): wider loads would have to wait for the narrower
/// stores of the instructions just run.
template <class Arch>
[[gnu::always_inline]] inline void copy(const BasicRules<Arch>& from,
                                        BasicRules<Arch>& to) noexcept {
    __atomic_load(&from.cfa.reg, &to.cfa.reg, __ATOMIC_RELAXED);
    __atomic_load(&from.cfa.value, &to.cfa.value, __ATOMIC_RELAXED);
    for (std::size_t slot = 0; slot < from.slots.size(); ++slot) {
        __atomic_load(&from.slots[slot], &to.slots[slot], __ATOMIC_RELAXED);
    }
}

/// Numbers past the registers that exist are made one that no walk knows.
std::uint64_t register_number(ByteReader& reader) noexcept {
    const std::uint64_t reg = reader.uleb();
    return reg < CfaRule::kExpression ? reg : CfaRule::kExpression - 1;
}

/// The address of a block; the reader is moved past it.
std::uint64_t block(ByteReader& reader) noexcept {
    const std::uint64_t address = reader.position();
    reader.skip(reader.uleb());
    return address;
}

/// Everything is inlined into one loop, which keeps its state in registers: a program has a dozen
/// instructions, of a nanosecond each.
template <class Arch>
class Interpreter {
    using Rules = BasicRules<Arch>;
    using Numbers = typename Arch::Numbers;

public:
    Interpreter(const Fde& fde, std::uint64_t pc, Rules& rules) noexcept
        : fde_{fde},
          pc_{pc},
          data_align_{static_cast<std::uint64_t>(fde.data_align)},
          rules_{rules} {}

    bool run() noexcept {
        clear(rules_);
        clear(initial_);
        if (fde_.initial_program_end - fde_.initial_program == Arch::kUsualProgramBytes &&
            Arch::is_usual_program(reinterpret_cast<const void*>(fde_.initial_program)))
            [[likely]] {
            rules_.cfa = CfaRule{Numbers::kSp, Arch::kUsualCfaOffset};
            if constexpr (!Arch::kHasLinkRegister) {
                const Rule return_address{RuleKind::offset, data_align_};
                rules_.of(Numbers::kReturn) = return_address;
                initial_.of(Numbers::kReturn) = return_address;
            }
        } else {
            // The CIE's instructions have no locations: all of them run.
            if (!run(fde_.initial_program, fde_.initial_program_end)) {
                return false;
            }
            copy(rules_, initial_);
        }
        return run(fde_.program, fde_.program_end);
    }

private:
    /// Stops where the rules of pc_ are complete.
    bool run(std::uint64_t begin, std::uint64_t end) noexcept {
        ByteReader reader{begin, end};
        std::uint64_t location = fde_.pc_begin;
        for (unsigned left = kMaxInstructions; !reader.at_end(); --left) {
            if (left == 0) {
                return false;
            }
            const std::uint8_t byte = reader.u8();
            const std::uint64_t operand = byte & 0x3f;
            bool known = true;
            if (byte >= restore) {
                rules_.of(operand) = initial_.of(operand);
            } else if (byte >= offset) {
                set(operand, RuleKind::offset, reader.uleb() * data_align_);
            } else if (byte >= advance_loc) {
                location += operand * fde_.code_align;
            } else if (byte == def_cfa_offset) {
                rules_.cfa.value = reader.uleb();
                known = rules_.cfa.reg < CfaRule::kExpression;
            } else {
                known = advance(byte, reader, location) || change_state(byte, reader) ||
                        define_cfa(byte, reader) || define_register(byte, reader);
            }
            if (!known || !reader.ok()) {
                return false;
            }
            if (location > pc_) {
                return true;
            }
        }
        return true;
    }

    // Each of the following handles its instructions and says whether `byte` was one of them.

    [[gnu::always_inline]] bool advance(std::uint8_t byte, ByteReader& reader,
                                        std::uint64_t& location) const noexcept {
        switch (byte) {
            case nop:
                return true;
            case set_loc: {
                // A copy: a reader whose address is taken would live in memory.
                ByteReader pointer = reader;
                location = read_pointer(pointer, fde_.pointer_encoding, 0) + fde_.address_bias;
                reader = pointer;
                return true;
            }
            case advance_loc1:
                location += reader.u8() * fde_.code_align;
                return true;
            case advance_loc2:
                location += reader.fixed<std::uint16_t>() * fde_.code_align;
                return true;
            case advance_loc4:
                location += reader.u32() * fde_.code_align;
                return true;
            case mips_advance_loc8:
                location += reader.fixed<std::uint64_t>() * fde_.code_align;
                return true;
            default:
                return false;
        }
    }

    [[gnu::always_inline]] bool define_cfa(std::uint8_t byte, ByteReader& reader) noexcept {
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

    [[gnu::always_inline]] bool define_register(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case offset_extended:
            case val_offset: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == val_offset ? RuleKind::val_offset : RuleKind::offset,
                    reader.uleb() * data_align_);
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
                set(reg, RuleKind::offset, 0 - reader.uleb() * data_align_);
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

    [[gnu::always_inline]] bool change_state(std::uint8_t byte, ByteReader& reader) noexcept {
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
                copy(rules_, stack_[remembered_++]);
                return true;
            case restore_state:
                if (remembered_ == 0) {
                    return false;
                }
                copy(stack_[--remembered_], rules_);
                return true;
            case gnu_args_size:
                static_cast<void>(reader.uleb());
                return true;
            case aarch64_negate_ra_state:
            case aarch64_negate_ra_state_with_pc:
                // Whether the return address is signed; the walker cuts off any signature.
                return std::is_same_v<Arch, arch::Aarch64>;
            default:
                return false;
        }
    }

    void set(std::uint64_t reg, RuleKind kind, std::uint64_t payload) noexcept {
        rules_.of(reg) = Rule{kind, payload};
    }
    std::uint64_t factored(ByteReader& reader) const noexcept {
        return static_cast<std::uint64_t>(reader.sleb()) * data_align_;
    }

    const Fde& fde_;
    std::uint64_t pc_;
    std::uint64_t data_align_;
    unsigned remembered_ = 0;
    Rules& rules_;
    Rules initial_;
    // Not initialised: remember_state fills what restore_state reads.
    std::array<Rules, kMaxRemembered> stack_;
};

}  // namespace

template <class Arch>
bool run_program(const Fde& fde, std::uint64_t pc, BasicRules<Arch>& out) noexcept {
    return Interpreter<Arch>{fde, pc, out}.run();
}

template bool run_program(const Fde& fde, std::uint64_t pc, BasicRules<arch::Built>& out) noexcept;

}  // namespace sample::unwind::cfi

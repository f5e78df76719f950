// The call frame instruction interpreter; the contract is in the header.
#include "unwind/cfi/rules.h"

#include <dwarf.h>

namespace sample::unwind::cfi {

namespace {

// Of DW_CFA_*, two high bits name the three short instructions, the rest is in the low six.
constexpr std::uint8_t kNegateRaStateWithPc = 0x2c;  // aarch64; newer than libdw 0.188

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
            if (byte >= DW_CFA_restore) {
                rules_.of(operand) = initial_.of(operand);
            } else if (byte >= DW_CFA_offset) {
                set(operand, RuleKind::offset, reader.uleb() * data_align_);
            } else if (byte >= DW_CFA_advance_loc) {
                location += operand * fde_.code_align;
            } else if (byte == DW_CFA_def_cfa_offset) {
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
            case DW_CFA_nop:
                return true;
            case DW_CFA_set_loc: {
                // A copy: a reader whose address is taken would live in memory.
                ByteReader pointer = reader;
                location = read_pointer(pointer, fde_.pointer_encoding, 0) + fde_.address_bias;
                reader = pointer;
                return true;
            }
            case DW_CFA_advance_loc1:
                location += reader.u8() * fde_.code_align;
                return true;
            case DW_CFA_advance_loc2:
                location += reader.fixed<std::uint16_t>() * fde_.code_align;
                return true;
            case DW_CFA_advance_loc4:
                location += reader.u32() * fde_.code_align;
                return true;
            case DW_CFA_MIPS_advance_loc8:
                location += reader.fixed<std::uint64_t>() * fde_.code_align;
                return true;
            default:
                return false;
        }
    }

    [[gnu::always_inline]] bool define_cfa(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case DW_CFA_def_cfa:
                rules_.cfa.reg = register_number(reader);
                rules_.cfa.value = reader.uleb();
                return true;
            case DW_CFA_def_cfa_sf:
                rules_.cfa.reg = register_number(reader);
                rules_.cfa.value = factored(reader);
                return true;
            case DW_CFA_def_cfa_register:
                rules_.cfa.reg = register_number(reader);
                return true;
            case DW_CFA_def_cfa_offset_sf:
                rules_.cfa.value = factored(reader);
                return rules_.cfa.reg < CfaRule::kExpression;
            case DW_CFA_def_cfa_expression:
                rules_.cfa = CfaRule{CfaRule::kExpression, block(reader)};
                return true;
            default:
                return false;
        }
    }

    [[gnu::always_inline]] bool define_register(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case DW_CFA_offset_extended:
            case DW_CFA_val_offset: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == DW_CFA_val_offset ? RuleKind::val_offset : RuleKind::offset,
                    reader.uleb() * data_align_);
                return true;
            }
            case DW_CFA_offset_extended_sf:
            case DW_CFA_val_offset_sf: {
                const std::uint64_t reg = reader.uleb();
                set(reg, byte == DW_CFA_val_offset_sf ? RuleKind::val_offset : RuleKind::offset,
                    factored(reader));
                return true;
            }
            case DW_CFA_GNU_negative_offset_extended: {
                const std::uint64_t reg = reader.uleb();
                set(reg, RuleKind::offset, 0 - reader.uleb() * data_align_);
                return true;
            }
            case DW_CFA_expression:
            case DW_CFA_val_expression: {
                const std::uint64_t reg = reader.uleb();
                set(reg,
                    byte == DW_CFA_expression ? RuleKind::expression : RuleKind::val_expression,
                    block(reader));
                return true;
            }
            case DW_CFA_register: {
                const std::uint64_t reg = reader.uleb();
                set(reg, RuleKind::reg, reader.uleb());
                return true;
            }
            case DW_CFA_undefined:
                set(reader.uleb(), RuleKind::undefined, 0);
                return true;
            case DW_CFA_same_value:
                set(reader.uleb(), RuleKind::same, 0);
                return true;
            default:
                return false;
        }
    }

    [[gnu::always_inline]] bool change_state(std::uint8_t byte, ByteReader& reader) noexcept {
        switch (byte) {
            case DW_CFA_restore_extended: {
                const std::uint64_t reg = reader.uleb();
                rules_.of(reg) = initial_.of(reg);
                return true;
            }
            case DW_CFA_remember_state:
                if (remembered_ == kMaxRemembered) {
                    return false;
                }
                copy(rules_, stack_[remembered_++]);
                return true;
            case DW_CFA_restore_state:
                if (remembered_ == 0) {
                    return false;
                }
                copy(stack_[--remembered_], rules_);
                return true;
            case DW_CFA_GNU_args_size:
                static_cast<void>(reader.uleb());
                return true;
            case DW_CFA_AARCH64_negate_ra_state:
            case kNegateRaStateWithPc:
                // Whether the return address is signed; the walker cuts off any signature.
                return Arch::kHasLinkRegister;
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

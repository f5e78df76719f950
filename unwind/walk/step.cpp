// Steps by rules, ucontexts and the rarer rows; the contracts are in the header.
#include "unwind/walk/step.h"

#include "unwind/cfi/expression.h"

namespace sample::unwind {

namespace {

using cfi::CfaRule;
using cfi::Rule;
using cfi::RuleKind;

Step from_evaluated(cfi::Evaluated evaluated) noexcept {
    switch (evaluated) {
        case cfi::Evaluated::yes:
            return Step::taken;
        case cfi::Evaluated::unknown_register:
            return Step::unknown_register;
        case cfi::Evaluated::unreadable:
            return Step::unreadable;
        default:
            return Step::unsupported;
    }
}

template <class Arch>
Step find_cfa(const CfaRule& rule, const BasicKnownRegisters<Arch>& frame, StackMemory& memory,
              std::uint64_t& cfa) noexcept {
    if (rule.reg == CfaRule::kExpression) {
        return from_evaluated(cfi::evaluate(rule.value, frame, memory, nullptr, cfa));
    }
    if (!frame.knows(rule.reg)) {
        return rule.reg < Arch::Numbers::kCount ? Step::unknown_register : Step::unsupported;
    }
    cfa = frame.value.value[rule.reg] + rule.value;
    return Step::taken;
}

template <class Arch>
struct Source {
    const BasicKnownRegisters<Arch>& frame;
    StackMemory& memory;
    std::uint64_t cfa;
};

/// As restore(), by an expression.
template <class Arch>
Step restore_by_expression(const Rule& rule, std::uint64_t reg, Source<Arch>& from,
                           std::uint64_t& value) noexcept {
    const Step step =
        from_evaluated(cfi::evaluate(rule.payload(), from.frame, from.memory, &from.cfa, value));
    if (step != Step::taken || rule.kind() == RuleKind::val_expression) {
        return step;
    }
    if (reg != Arch::Numbers::kReturn && value >= from.cfa && from.frame.knows(reg)) {
        // GCC's rules of a realigned frame after `leave`: the register is back already.
        value = from.frame.value.value[reg];
        return Step::taken;
    }
    return from.memory.read(value, value) ? Step::taken : Step::unreadable;
}

/// The caller's value of register `reg`, by `rule`.
template <class Arch>
Step restore(const Rule& rule, std::uint64_t reg, Source<Arch>& from,
             std::uint64_t& value) noexcept {
    using Numbers = typename Arch::Numbers;
    switch (rule.kind()) {
        case RuleKind::unspecified:
            if (reg == Numbers::kSp) {
                value = from.cfa;
                return Step::taken;
            }
            [[fallthrough]];
        case RuleKind::same:
            value = from.frame.value.value[reg];
            return reg != Numbers::kPc && from.frame.knows(reg) ? Step::taken
                                                                : Step::unknown_register;
        case RuleKind::offset: {
            const std::uint64_t slot = from.cfa + rule.payload();
            if (from.memory.read(slot, value)) {
                return Step::taken;
            }
            value = from.frame.value.value[reg];
            return reg != Numbers::kReturn && reg != Numbers::kSp &&
                           is_popped(slot, from.frame.value.sp()) && from.frame.knows(reg)
                       ? Step::taken
                       : Step::unreadable;
        }
        case RuleKind::val_offset:
            value = from.cfa + rule.payload();
            return Step::taken;
        case RuleKind::reg:
            if (!from.frame.knows(rule.payload())) {
                return Step::unknown_register;
            }
            value = from.frame.value.value[rule.payload()];
            return Step::taken;
        case RuleKind::expression:
        case RuleKind::val_expression:
            return restore_by_expression(rule, reg, from, value);
        default:
            return Step::unknown_register;
    }
}

}  // namespace

template <class Arch>
Step step_by_rules(const cfi::BasicRules<Arch>& rules, BasicKnownRegisters<Arch>& frame,
                   StackMemory& memory) noexcept {
    using Numbers = typename Arch::Numbers;
    if (rules.of(Numbers::kReturn).kind() == RuleKind::undefined) {
        return Step::root;
    }
    Source<Arch> from{frame, memory, 0};
    if (const Step step = find_cfa(rules.cfa, frame, memory, from.cfa); step != Step::taken) {
        return step;
    }
    BasicKnownRegisters<Arch> caller;
    for (std::size_t slot = 0; slot < rules.kRegisters.size(); ++slot) {
        const std::uint64_t reg = rules.kRegisters[slot];
        std::uint64_t value = 0;
        const Step step = restore(rules.slots[slot], reg, from, value);
        if (step != Step::taken) {
            if (reg == Numbers::kReturn || reg == Numbers::kSp) {
                return step;
            }
        } else if (reg == Numbers::kReturn) {
            // The call has overwritten a link register: in the caller it is not known.
            caller.set(Numbers::kPc, Arch::code_address(value));
        } else {
            caller.set(reg, value);
        }
    }
    // No rule says that scratch registers are kept, but without one nobody says that they are not:
    // assembly keeps its CFA in one, and calls helpers of its own that leave it alone.
    if (rules.slots[Arch::kRestored.size()].kind() == RuleKind::unspecified) {
        for (std::uint64_t reg = 0; reg < Numbers::kCount; ++reg) {
            if (Arch::slot_of(reg) == Arch::kRestored.size() && reg != Numbers::kPc &&
                frame.knows(reg)) {
                caller.set(reg, frame.value.value[reg]);
            }
        }
    }
    // Equal is right for code that has popped its return address into a register (vfork).
    if (caller.value.sp() < frame.value.sp()) {
        return Step::no_progress;
    }
    frame = caller;
    return Step::taken;
}

template <class Arch>
Step step_by_ucontext(BasicKnownRegisters<Arch>& frame, StackMemory& memory) noexcept {
    BasicKnownRegisters<Arch> interrupted;
    std::uint64_t slot = frame.value.sp() + Arch::kSigcontextOffset;
    for (const std::uint8_t reg : Arch::kSigcontextOrder) {
        std::uint64_t value = 0;
        if (!memory.read(slot, value)) {
            return Step::unreadable;
        }
        interrupted.set(reg, value);
        slot += 8;
    }
    frame = interrupted;
    return Step::taken;
}

template <class Arch>
Step step_by_row(cfi::Row row, BasicKnownRegisters<Arch>& frame, StackMemory& memory) noexcept {
    using Known = BasicKnownRegisters<Arch>;
    using Numbers = typename Arch::Numbers;
    const bool in_link = Arch::kHasLinkRegister && row.kind() == cfi::RowKind::link;
    const std::uint64_t reg = row.kind() == cfi::RowKind::cfa_sp || in_link ? Numbers::kSp
                              : row.kind() == cfi::RowKind::cfa_bp          ? Numbers::kBp
                                                                            : row.reg();
    if (!frame.knows(reg) || (in_link && !frame.knows(Numbers::kReturn))) {
        return Step::unknown_register;
    }
    std::uint64_t cfa = frame.value.value[reg] + row.offset();
    if (row.kind() == cfi::RowKind::deref) {
        if (!memory.read(cfa, cfa)) {
            return Step::unreadable;
        }
        cfa += row.offset2();
    }
    // A leaf may have pushed nothing; a link register is used once.
    if (in_link ? cfa < frame.value.sp() : cfa <= frame.value.sp()) {
        return Step::no_progress;
    }
    std::uint64_t return_address = frame.value.value[Numbers::kReturn];
    std::uint64_t bp = frame.value.bp();
    const std::uint64_t slot =
        row.bp() == cfi::BpRule::at_bp ? bp + row.bp_offset() : cfi::bp_slot<Arch>(row, cfa);
    if ((!in_link && !memory.read(cfa + cfi::return_offset<Arch>(row), return_address)) ||
        (row.bp() != cfi::BpRule::same && slot < cfa && !memory.read(slot, bp) &&
         !is_popped(slot, frame.value.sp()))) {
        return Step::unreadable;
    }
    frame.value.value[Numbers::kPc] = Arch::code_address(return_address);
    frame.value.value[Numbers::kSp] = cfa;
    frame.value.value[Numbers::kBp] = bp;
    frame.known = Known::kFrame;
    return Step::taken;
}

template Step step_by_rules(const cfi::BasicRules<arch::Built>& rules,
                            BasicKnownRegisters<arch::Built>& frame, StackMemory& memory) noexcept;
template Step step_by_ucontext(BasicKnownRegisters<arch::Built>& frame,
                               StackMemory& memory) noexcept;
template Step step_by_row(cfi::Row row, BasicKnownRegisters<arch::Built>& frame,
                          StackMemory& memory) noexcept;

}  // namespace sample::unwind

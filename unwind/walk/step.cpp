// Steps by rules, ucontexts and the rarer rows; the contracts are in the header.
#include "unwind/walk/step.h"

#include "unwind/cfi/expression.h"
#include "unwind/walk/ucontext.h"

namespace sample::unwind {

namespace {

using cfi::CfaRule;
using cfi::Rule;
using cfi::RuleKind;
using cfi::Rules;

// rax, rdx, rcx, rsi, rdi, r8–r11: no rule says that they are kept, but without one nobody says
// that they are not.
constexpr std::array<std::uint8_t, 9> kScratch{0, 1, 2, 4, 5, 8, 9, 10, 11};

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

Step find_cfa(const CfaRule& rule, const KnownRegisters& frame, StackMemory& memory,
              std::uint64_t& cfa) noexcept {
    if (rule.reg == CfaRule::kExpression) {
        return from_evaluated(cfi::evaluate(rule.value, frame, memory, nullptr, cfa));
    }
    if (!frame.knows(rule.reg)) {
        return rule.reg < Registers::kCount ? Step::unknown_register : Step::unsupported;
    }
    cfa = frame.value.value[rule.reg] + rule.value;
    return Step::taken;
}

struct Source {
    const KnownRegisters& frame;
    StackMemory& memory;
    std::uint64_t cfa;
};

/// The caller's value of register `reg`, by `rule`.
Step restore(const Rule& rule, std::uint64_t reg, Source& from, std::uint64_t& value) noexcept {
    switch (rule.kind()) {
        case RuleKind::unspecified:
            if (reg == Registers::kSp) {
                value = from.cfa;
                return Step::taken;
            }
            [[fallthrough]];
        case RuleKind::same:
            value = from.frame.value.value[reg];
            return reg != Registers::kPc && from.frame.knows(reg) ? Step::taken
                                                                  : Step::unknown_register;
        case RuleKind::offset: {
            const std::uint64_t slot = from.cfa + rule.payload();
            if (from.memory.read(slot, value)) {
                return Step::taken;
            }
            value = from.frame.value.value[reg];
            return reg != Registers::kPc && reg != Registers::kSp &&
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
        case RuleKind::val_expression: {
            const Step step = from_evaluated(
                cfi::evaluate(rule.payload(), from.frame, from.memory, &from.cfa, value));
            if (step == Step::taken && rule.kind() == RuleKind::expression) {
                if (reg != Registers::kPc && value >= from.cfa && from.frame.knows(reg)) {
                    // GCC's rules of a realigned frame after `leave`: the register is back already.
                    value = from.frame.value.value[reg];
                    return Step::taken;
                }
                return from.memory.read(value, value) ? Step::taken : Step::unreadable;
            }
            return step;
        }
        default:
            return Step::unknown_register;
    }
}

}  // namespace

Step step_by_rules(const Rules& rules, KnownRegisters& frame, StackMemory& memory) noexcept {
    if (rules.of(Registers::kPc).kind() == RuleKind::undefined) {
        return Step::root;
    }
    Source from{frame, memory, 0};
    if (const Step step = find_cfa(rules.cfa, frame, memory, from.cfa); step != Step::taken) {
        return step;
    }
    KnownRegisters caller;
    for (std::size_t slot = 0; slot < Rules::kRegisters.size(); ++slot) {
        const std::uint64_t reg = Rules::kRegisters[slot];
        std::uint64_t value = 0;
        const Step step = restore(rules.slots[slot], reg, from, value);
        if (step == Step::taken) {
            caller.set(reg, value);
        } else if (reg == Registers::kPc || reg == Registers::kSp) {
            return step;
        }
    }
    // Assembly keeps its CFA in one, and calls helpers of its own that leave it alone.
    if (rules.slots[Rules::kIgnored].kind() == RuleKind::unspecified) {
        for (const std::uint8_t reg : kScratch) {
            if (frame.knows(reg)) {
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

Step step_by_ucontext(KnownRegisters& frame, StackMemory& memory) noexcept {
    KnownRegisters interrupted;
    std::uint64_t slot = frame.value.sp() + kSigcontextOffset;
    for (const std::uint8_t reg : kSigcontextOrder) {
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

Step step_by_row(cfi::Row row, KnownRegisters& frame, StackMemory& memory) noexcept {
    const std::uint64_t reg = row.kind() == cfi::RowKind::cfa_sp   ? Registers::kSp
                              : row.kind() == cfi::RowKind::cfa_bp ? Registers::kBp
                                                                   : row.reg();
    if (!frame.knows(reg)) {
        return Step::unknown_register;
    }
    std::uint64_t cfa = frame.value.value[reg] + row.offset();
    if (row.kind() == cfi::RowKind::deref) {
        if (!memory.read(cfa, cfa)) {
            return Step::unreadable;
        }
        cfa += row.offset2();
    }
    if (cfa <= frame.value.sp()) {
        return Step::no_progress;
    }
    std::uint64_t return_address = 0;
    std::uint64_t bp = frame.value.bp();
    const std::uint64_t slot = (row.bp() == cfi::BpRule::at_bp ? bp : cfa) + row.bp_offset();
    if (!memory.read(cfa - 8, return_address) ||
        (row.bp() != cfi::BpRule::same && slot < cfa && !memory.read(slot, bp) &&
         !is_popped(slot, frame.value.sp()))) {
        return Step::unreadable;
    }
    frame.value.value[Registers::kPc] = return_address;
    frame.value.value[Registers::kSp] = cfa;
    frame.value.value[Registers::kBp] = bp;
    frame.known = KnownRegisters::kFrame;
    return Step::taken;
}

}  // namespace sample::unwind

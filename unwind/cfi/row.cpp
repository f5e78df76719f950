// From rules to rows; the contract is in the header.
#include "unwind/cfi/row.h"

#include "unwind/cfi/expression.h"
#include "unwind/cfi/program.h"

namespace sample::unwind::cfi {

namespace {

// The ucontext lies at rsp when the signal trampoline runs (struct rt_sigframe without its return
// address); its saved rsp is at 160. Source: Linux uapi/asm/ucontext.h, sigcontext.h.
constexpr std::int64_t kSavedSp = 160;

bool is_ucontext_rule(const Rules& rules) noexcept {
    if (rules.cfa.reg != CfaRule::kExpression) {
        return false;
    }
    const ExpressionShape shape = recognise(rules.cfa.value);
    return shape.kind == ExpressionShape::Kind::deref_reg_plus && shape.reg == Registers::kSp &&
           shape.offset == kSavedSp && shape.offset2 == 0;
}

/// False if the rule of the CFA has no place in a row.
bool pack_cfa(const CfaRule& cfa, std::uint64_t pc, Row::Fields& out) noexcept {
    using Kind = ExpressionShape::Kind;
    ExpressionShape shape;
    if (cfa.reg == CfaRule::kExpression) {
        shape = recognise(cfa.value);
    } else {
        shape.kind = Kind::reg_plus;
        shape.reg = cfa.reg;
        shape.offset = static_cast<std::int64_t>(cfa.value);
    }
    out.reg = shape.reg;
    out.offset = shape.offset;
    out.offset2 = shape.offset2;
    switch (shape.kind) {
        case Kind::reg_plus:
            out.kind = shape.reg == Registers::kSp   ? RowKind::cfa_sp
                       : shape.reg == Registers::kBp ? RowKind::cfa_bp
                                                     : RowKind::cfa_register;
            return true;
        case Kind::deref_reg_plus:
            out.kind = RowKind::deref;
            return true;
        case Kind::plt:
            out.kind = RowKind::cfa_sp;
            out.offset += (pc & 15) >= shape.bound ? 8 : 0;
            return true;
        default:
            return false;
    }
}

bool pack_bp(const Rule& rule, Row::Fields& out) noexcept {
    switch (rule.kind()) {
        case RuleKind::unspecified:
        case RuleKind::same:
            return true;
        case RuleKind::offset:
            out.bp = BpRule::at_cfa;
            out.bp_offset = rule.signed_payload();
            // A slot outside of the frame may be unreadable where the frame is not.
            return out.bp_offset < 0;
        case RuleKind::expression: {
            const ExpressionShape shape = recognise(rule.payload());
            out.bp = BpRule::at_bp;
            out.bp_offset = shape.offset;
            return shape.kind == ExpressionShape::Kind::reg_plus && shape.reg == Registers::kBp;
        }
        default:
            return false;
    }
}

/// rsp' is the CFA, said or unsaid.
bool is_plain_sp(const Rule& rule) noexcept {
    return rule.kind() == RuleKind::unspecified ||
           (rule.kind() == RuleKind::val_offset && rule.payload() == 0);
}

}  // namespace

Found find_rules(const Tables& tables, std::uint64_t pc, FrameRules& out) noexcept {
    Fde fde;
    if (const Found found = find_fde(tables, pc, fde); found != Found::yes) {
        return found;
    }
    out.signal_frame = fde.signal_frame;
    return run_program(fde, pc, out.rules) ? Found::yes : Found::corrupt;
}

Row pack_rules(const FrameRules& frame, std::uint64_t pc) noexcept {
    const Rules& rules = frame.rules;
    const Rule return_address = rules.of(Registers::kPc);
    if (return_address.kind() == RuleKind::undefined) {
        return Row{RowKind::root};
    }
    if (rules.cfa.reg == CfaRule::kNone) {
        return Row{RowKind::unsupported};
    }
    if (frame.signal_frame) {
        return Row{is_ucontext_rule(rules) ? RowKind::signal : RowKind::complex};
    }
    Row::Fields fields;
    if (return_address != Rule{RuleKind::offset, static_cast<std::uint64_t>(-8)} ||
        !is_plain_sp(rules.of(Registers::kSp)) || !pack_cfa(rules.cfa, pc, fields) ||
        !pack_bp(rules.of(Registers::kBp), fields)) {
        return Row{RowKind::complex};
    }
    // The hot kinds know two rules for rbp; the third is only met with a realigned stack.
    if (fields.bp == BpRule::at_bp && fields.kind != RowKind::deref &&
        fields.kind != RowKind::cfa_register) {
        return Row{RowKind::complex};
    }
    return Row::pack(fields);
}

}  // namespace sample::unwind::cfi

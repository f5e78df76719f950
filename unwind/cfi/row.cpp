// From rules to rows; the contract is in the header.
#include "unwind/cfi/row.h"

#include "unwind/cfi/expression.h"
#include "unwind/cfi/rules.h"

namespace sample::unwind::cfi {

namespace {

/// The rules that glibc writes for the signal trampoline. Where there is a link register,
/// trampolines are known by their code alone.
template <class Arch>
bool is_ucontext_rule(const CfaRule& cfa) noexcept {
    if constexpr (Arch::kHasLinkRegister) {
        return false;
    } else {
        if (cfa.reg != CfaRule::kExpression) {
            return false;
        }
        const ExpressionShape shape = recognise(cfa.value);
        return shape.kind == ExpressionShape::Kind::deref_reg_plus &&
               shape.reg == Arch::Numbers::kSp && shape.offset == Arch::kSavedSp &&
               shape.offset2 == 0;
    }
}

/// False if the rule of the CFA has no place in a row.
template <class Arch>
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
            out.kind = shape.reg == Arch::Numbers::kSp   ? RowKind::cfa_sp
                       : shape.reg == Arch::Numbers::kBp ? RowKind::cfa_bp
                                                         : RowKind::cfa_register;
            // The kind says it, and a row has four bits for others.
            out.reg = out.kind == RowKind::cfa_register ? shape.reg : 0;
            return true;
        case Kind::deref_reg_plus:
            out.kind = RowKind::deref;
            return !Arch::kHasLinkRegister;
        case Kind::plt:
            out.kind = RowKind::cfa_sp;
            out.offset += (pc & 15) >= shape.bound ? 8 : 0;
            return !Arch::kHasLinkRegister;
        default:
            return false;
    }
}

template <class Arch>
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
            return shape.kind == ExpressionShape::Kind::reg_plus && shape.reg == Arch::Numbers::kBp;
        }
        default:
            return false;
    }
}

/// Comes last: what else the row says decides how.
template <class Arch>
bool pack_return(const Rule& rule, Row::Fields& out) noexcept {
    if constexpr (!Arch::kHasLinkRegister) {
        return rule == Rule{RuleKind::offset, static_cast<std::uint64_t>(-8)};
    } else {
        switch (rule.kind()) {
            case RuleKind::unspecified:
            case RuleKind::same:
                if (out.kind != RowKind::cfa_sp) {
                    return false;
                }
                out.kind = RowKind::link;
                return true;
            case RuleKind::offset:
                out.offset2 = rule.signed_payload() / 8;
                out.bp_offset -= out.bp == BpRule::at_cfa ? rule.signed_payload() : 0;
                return rule.signed_payload() % 8 == 0;
            default:
                return false;
        }
    }
}

/// rsp' is the CFA, said or unsaid.
bool is_plain_sp(const Rule& rule) noexcept {
    return rule.kind() == RuleKind::unspecified ||
           (rule.kind() == RuleKind::val_offset && rule.payload() == 0);
}

}  // namespace

template <class Arch>
Found find_rules(const Tables& tables, std::uint64_t pc, BasicFrameRules<Arch>& out) noexcept {
    Fde fde;
    if (const Found found = find_fde(tables, pc, fde); found != Found::yes) {
        return found;
    }
    if (fde.return_column != Arch::Numbers::kReturn) {
        return Found::unsupported;
    }
    out.signal_frame = fde.signal_frame;
    out.pc_begin = fde.pc_begin;
    out.pc_end = fde.pc_end;
    return run_program(fde, pc, out.rules) ? Found::yes : Found::corrupt;
}

template <class Arch>
Row pack_rules(const BasicFrameRules<Arch>& frame, std::uint64_t pc) noexcept {
    const BasicRules<Arch>& rules = frame.rules;
    const Rule return_address = rules.of(Arch::Numbers::kReturn);
    if (return_address.kind() == RuleKind::undefined) {
        return Row{RowKind::root};
    }
    if (rules.cfa.reg == CfaRule::kNone) {
        return Row{RowKind::unsupported};
    }
    if (frame.signal_frame) {
        return Row{is_ucontext_rule<Arch>(rules.cfa) ? RowKind::signal : RowKind::complex};
    }
    Row::Fields fields;
    if (!is_plain_sp(rules.of(Arch::Numbers::kSp)) || !pack_cfa<Arch>(rules.cfa, pc, fields) ||
        !pack_bp<Arch>(rules.of(Arch::Numbers::kBp), fields) ||
        !pack_return<Arch>(return_address, fields)) {
        return Row{RowKind::complex};
    }
    // The hot kinds know two rules for rbp; the third is only met with a realigned stack.
    if (fields.bp == BpRule::at_bp && fields.kind != RowKind::deref &&
        fields.kind != RowKind::cfa_register) {
        return Row{RowKind::complex};
    }
    return Row::pack(fields);
}

template Found find_rules(const Tables& tables, std::uint64_t pc,
                          BasicFrameRules<arch::Built>& out) noexcept;
template Row pack_rules(const BasicFrameRules<arch::Built>& frame, std::uint64_t pc) noexcept;

}  // namespace sample::unwind::cfi
